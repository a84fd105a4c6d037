/** Words that make no difference between two goals. */
const FILLERS = new Set('a an the this that these those please now then also just and'.split(' '))

/** Plain words that make another goal of one: they count, order or negate. */
const TELLING = new Set(
  `zero one two three four five six seven eight nine ten eleven twelve first second third fourth fifth sixth seventh eighth ninth
  tenth next another last today tomorrow yesterday not no never without`.split(/\s+/),
)

/** Share of the longer objective's words that both must have. */
const ALIKE = 0.8

/**
 * Returns whether two objectives ask for the same thing: all words of the shorter one stand in the longer one, in the same order,
 * and what the longer one has besides is a few plain words. A number, a name, a date or a replaced word makes another goal.
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
  /** It can be neither a number nor a name. */
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
