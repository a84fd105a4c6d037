/**
 * Prepares text from outside for a prompt: removes control characters and simple HTML tags, however they are nested.
 */
export function sanitize(text: string): string {
  return withoutTags(text.replace(/(?![\t\n])[\p{Cc}\p{Cf}]/gu, '')).trim()
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Sanitizes text and puts it on one line, so that it cannot begin a line of its own in another agent's prompt. */
export function sanitizeLine(text: string): string {
  return oneLine(sanitize(text))
}

/** Text between the angle brackets of a tag. */
const TAG = /^\/?[a-zA-Z!].{0,200}$/s

/** Removes tags, including those formed by the removal of a tag inside them. Goes through the text once. */
function withoutTags(text: string): string {
  const settled: string[] = []
  // Text after each "<" that may still begin a tag.
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
