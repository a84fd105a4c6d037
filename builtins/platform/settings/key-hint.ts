import { closestMatches } from '#kernel'

/** Keys that people expect here, but that belong in the file of models. */
const OF_MODELS = /^models?\.(prices?|tiers?|tool_calls)\b/
const MIN_SHARED_WORDS = 2

/** Returns at most two keys close to this one: by spelling, otherwise by the words that they share. */
function closestKeys(key: string, known: readonly string[]): string[] {
  const close = closestMatches(key, known)
  if (close.length > 0) return close
  const words = new Set(wordsOf(key))
  return known
    .map(name => ({ name, shared: wordsOf(name).filter(word => words.has(word)).length }))
    .filter(({ shared }) => shared >= MIN_SHARED_WORDS)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, 2)
    .map(({ name }) => name)
}

const wordsOf = (key: string) => key.split(/[._]/)

/** Returns the end of a message about an unknown key: where it belongs, or the closest keys; empty if there are none. */
export function keyHint(key: string, known: readonly string[]): string {
  if (OF_MODELS.test(key)) return 'prices and tiers belong in models.yaml of the project'
  const close = closestKeys(key, known)
  return close.length > 0 ? `did you mean ${close.map(name => `"${name}"`).join(' or ')}?` : ''
}
