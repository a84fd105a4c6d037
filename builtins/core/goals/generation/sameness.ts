/** Words that do not change the meaning of a goal. */
const FILLERS = new Set('a an the this that these those please now then also just and'.split(' '))

/** Common words that make a different goal, because they count, order or negate. */
const TELLING = new Set(
  `zero one two three four five six seven eight nine ten eleven twelve first second third fourth fifth sixth seventh eighth ninth
  tenth next another last today tomorrow yesterday not no never without`.split(/\s+/),
)

/** Minimum share of the longer objective's words that both must contain. */
const ALIKE = 0.8

/**
 * Returns whether two objectives ask for the same thing: the shorter one's words appear in the longer one in the same
 * order, and its additional words are few and plain. A number, a name, a date or a replaced word makes a different
 * goal.
 */
export function isSameGoal(a: string, b: string): boolean {
  const [short, long] = [wordsOf(a), wordsOf(b)].sort((x, y) => x.length - y.length) as [Word[], Word[]]
  const added: Word[] = []
  let at = 0
  for (const word of long) {
    if (word.text === short[at]?.text) at++
    else added.push(word)
  }
  if (at < short.length) return false
  return added.length === 0 || (added.every(({ isPlain }) => isPlain) && short.length / long.length > ALIKE)
}

interface Word {
  text: string
  /** Whether the word is neither a number nor a name. */
  isPlain: boolean
}

function wordsOf(objective: string): Word[] {
  const words = objective
    .normalize('NFKC')
    .split(/\s+/)
    .map(word => word.replace(/^["'“”‘’«»([]+|["'“”‘’«»)\].,;:!?…]+$/gu, ''))
  return words.flatMap(word => {
    const text = word.toLowerCase()
    if (text === '' || FILLERS.has(text)) return []
    return [{ text, isPlain: /^\p{Ll}+$/u.test(word) && !TELLING.has(text) }]
  })
}
