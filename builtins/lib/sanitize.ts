/** Text from outside that goes into a prompt: without control characters and simple HTML tags, however they are nested. */
export function sanitize(text: string): string {
  return withoutTags(text.replace(/(?![\t\n])[\p{Cc}\p{Cf}]/gu, '')).trim()
}

/** The same on one line: in a prompt of another agent it begins no line of its own. */
export function sanitizeLine(text: string): string {
  return sanitize(text).replace(/\s+/g, ' ')
}

/** What stands between the brackets of a tag. */
const TAG = /^\/?[a-zA-Z!].{0,200}$/s

/** Without tags, and without those that come about when one in their middle is taken out. Goes through the text once. */
function withoutTags(text: string): string {
  const settled: string[] = []
  // What stands behind each "<" that may still begin a tag.
  let open: string[] = []
  const settle = () => {
    for (const each of open) settled.push('<', each)
    open = []
  }
  for (const piece of text.split(/(?=[<>])/)) {
    const rest = piece.slice(1)
    if (piece.startsWith('<')) open.push(rest)
    else if (piece.startsWith('>') && TAG.test(open.at(-1) ?? '')) {
      open.pop()
      const outer = open.pop()
      if (outer === undefined) settled.push(rest)
      else open.push(outer + rest)
    } else {
      settle()
      settled.push(piece)
    }
  }
  settle()
  return settled.join('')
}
