const ARABIC = String.raw`(?=\p{Script=Arabic})\p{L}`
/** Arabic letters that never join the next one, so that a joiner after them would be invisible. */
const UNJOINED = String.raw`[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef]`
/** Signs of Indian scripts that join two consonants. */
const VIRAMAS = String.raw`[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]`
/**
 * Source of a pattern for a zero-width joiner or non-joiner that changes how its neighbours look, as in Persian and
 * Hindi words and in emoji, and for the selector behind an emoji. Elsewhere these characters are invisible, and could
 * disguise a text.
 */
const JOINER = [
  String.raw`(?<=(?!${UNJOINED})${ARABIC}\p{M}*)\u200c(?=${ARABIC})`,
  String.raw`(?<=\p{L}\p{M}*${VIRAMAS})[\u200c\u200d](?=\p{L})`,
  String.raw`(?<=\p{ExtPict}[\ufe0f\p{EMod}]?)\u200d(?=\p{ExtPict})`,
  String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
].join('|')
/** Source of a class of characters that control a terminal, or that are invisible, also those that can encode text. */
const INVISIBLE = String.raw`\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}`
/** Control characters and invisible ones, except tabs, line breaks and joiners that have a use. */
export const CONTROL = new RegExp(String.raw`(?![\t\n]|${JOINER})[${INVISIBLE}]`, 'gu')
/** The same, with lone surrogates and line breaks that few programs show: what a reader must not miss. */
export const DECEIVING = new RegExp(String.raw`(?![\t\n]|${JOINER})[${INVISIBLE}\p{Cs}\p{Zl}\p{Zp}]`, 'gu')

/** Escapes deceiving characters in JSON text, by JSON escapes. */
export function printableJson(text: string): string {
  return text.replace(DECEIVING, character =>
    Array.from({ length: character.length }, (_, at) => unicodeEscape(character.charCodeAt(at))).join(''),
  )
}

/** Returns the JSON escape of a UTF-16 code unit, such as `\u202e`. */
export function unicodeEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/**
 * Prepares text from outside for a prompt: removes control characters and simple HTML tags, however they are nested.
 * For text that may contain code, use `removeControlCharacters`.
 */
export function sanitize(text: string): string {
  return withoutTags(removeControlCharacters(text)).trim()
}

/** Removes control characters except tabs, line breaks and joiners that have a use. */
export function removeControlCharacters(text: string): string {
  return text.replace(CONTROL, '').trim()
}

/** Puts text on one line. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Sanitizes text and puts it on one line, so that it cannot begin a line of its own in another agent's prompt. */
export function sanitizeLine(text: string): string {
  return oneLine(sanitize(text))
}

const ELEMENTS =
  'a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search section select slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr'.split(
    ' ',
  )
// A single upper-case letter is usually a type parameter: Promise<P>.
const NAMES = [...ELEMENTS, ...ELEMENTS.filter(name => name.length > 1).map(name => name.toUpperCase())].join('|')
/** Text between the angle brackets of a tag of HTML, but not of `List<Note>` or `a<b && c>d`. */
const TAG = new RegExp(`^(?:!(?:--|doctype|DOCTYPE).*|/?(?:${NAMES})(?:(?:\\s+[\\w:-]+)+\\s*=(?!=).*)?\\s*/?)$`, 's')
/** Maximum length of that text, in characters. */
const LONGEST_TAG = 201

function isTag(inner: string): boolean {
  return inner.length <= LONGEST_TAG && TAG.test(inner)
}

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
    else if (piece.startsWith('>') && isTag(open.at(-1) ?? '')) {
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
