/** Returns at most two names that are close to `word`, closest first. */
export function closestMatches(word: string, names: readonly string[]): string[] {
  const limit = Math.ceil(word.length / 3)
  return names
    .map(name => ({ name, steps: isPart(word, name) ? 1 : editDistance(word, name) }))
    .filter(({ steps }) => steps <= limit)
    .sort((a, b) => a.steps - b.steps)
    .slice(0, 2)
    .map(({ name }) => name)
}

/** @deprecated Use `closestMatches`. */
export const near = closestMatches

/** Returns whether `word` is the beginning of a name, or its last part. */
function isPart(word: string, name: string): boolean {
  return word.length > 2 && (name.startsWith(word) || name.endsWith(`.${word}`))
}

/** Returns the restricted Damerau–Levenshtein distance of two words. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let steps = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        steps = Math.min(steps, rows[i - 2]![j - 2]! + 1)
      }
      row.push(steps)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/** Returns the end of a message about an unknown name: the closest matches, or all. @param list where to find them if there are many */
export function didYouMean(word: string, names: readonly string[], list?: string): string {
  const [first, second] = closestMatches(word, names)
  if (first === undefined && list) return `${list} lists them`
  if (first === undefined) return names.length > 0 ? `there are: ${names.join(', ')}` : 'there is none'
  return `did you mean "${first}"${second === undefined ? '' : ` or "${second}"`}?`
}
