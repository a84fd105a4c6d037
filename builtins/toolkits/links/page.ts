/** What a page says, without its markup. */
export interface Page {
  title: string
  /** What it says of itself, or how it begins. */
  summary: string
  text: string
}

const SUMMARY = 500
const TITLE = 200
/** Markup that is no text, with all that stands in it. */
const HIDDEN = /^(?:script|style|noscript|template|svg|iframe|object|select|nav|footer)$/
/** Elements that begin a line. */
const BLOCK =
  /^(?:p|div|br|hr|li|ul|ol|dl|dt|dd|tr|table|h[1-6]|section|article|main|header|aside|pre|blockquote|form)$/
/** A tag's name and attributes are looked for in so many characters. */
const LONGEST_TAG = 4_000

/** Stands where a line begins, until the lines are made. */
const BREAK = '\0'

/** The text of a page of HTML. Each character is looked at a bounded number of times, however broken the markup is. */
export function pageOf(source: string): Page {
  const html = source.replaceAll(BREAK, '')
  const parts: string[] = []
  let title = ''
  let description = ''
  for (let at = 0; at < html.length; ) {
    const open = nextTag(html, at)
    parts.push(html.slice(at, open))
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4)
      continue
    }
    const [, slash = '', name = ''] = /^<(\/?)([a-z][a-z0-9]{0,19})/i.exec(html.slice(open, open + 24)) ?? []
    const element = name.toLowerCase()
    const end = after(html, '>', open)
    at = end
    if (BLOCK.test(element)) parts.push(BREAK)
    if (slash !== '') continue
    if (element === 'title') {
      at = closing(html, element, end)
      title ||= clean(decoded(html.slice(end, at)))
    } else if (element === 'meta') description ||= descriptionIn(html.slice(open, Math.min(end, open + LONGEST_TAG)))
    else if (HIDDEN.test(element)) at = closing(html, element, end)
  }
  const text = decoded(parts.join('')).split(BREAK).map(clean).filter(Boolean).join('\n')
  return { title: title.slice(0, TITLE), summary: clean(description || text).slice(0, SUMMARY), text }
}

/** Where the next tag or comment begins; a "<" before anything else is a sign of comparison. The end when there is none. */
function nextTag(html: string, from: number): number {
  for (let at = html.indexOf('<', from); at >= 0; at = html.indexOf('<', at + 1)) {
    if (/[a-z/!?]/i.test(html.charAt(at + 1))) return at
  }
  return html.length
}

/** The text of whatever a server sent. @param type its content type; undefined for what is no text */
export function readPage(body: Uint8Array, type: string | null): Page | undefined {
  const [media = '', ...parameters] = (type ?? 'text/html').toLowerCase().split(';')
  if (!/^(?:text\/|application\/(?:json|xml|xhtml\+xml|[\w.-]+\+(?:json|xml))$)/.test(media.trim())) return undefined
  const text = decoderOf(parameters).decode(body)
  if (/html/.test(media)) return pageOf(text)
  const plain = text.replace(/(?![\t\n])\p{Cc}/gu, '').trim()
  return { title: '', summary: clean(plain.slice(0, 2 * SUMMARY)).slice(0, SUMMARY), text: plain }
}

function decoderOf(parameters: readonly string[]) {
  const charset = parameters.map(each => /^\s*charset\s*=\s*"?([\w.:-]+)/.exec(each)?.[1]).find(Boolean)
  try {
    return new TextDecoder(charset ?? 'utf-8')
  } catch {
    return new TextDecoder('utf-8')
  }
}

/** Where a text ends that begins at `from` or later; the end of all when it does not. */
function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
}

const closers = new Map<string, RegExp>()

/** Where the closing tag of an element begins; the end of all when there is none. */
function closing(html: string, name: string, from: number): number {
  const closer = closers.get(name) ?? new RegExp(`</${name}`, 'gi')
  closers.set(name, closer)
  closer.lastIndex = from
  return closer.exec(html)?.index ?? html.length
}

function descriptionIn(tag: string): string {
  if (!/(?:name|property)\s{0,9}=\s{0,9}["']?(?:og:)?description\b/i.test(tag)) return ''
  const content = /\bcontent\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)')/i.exec(tag)
  return clean(decoded(content?.[1] ?? content?.[2] ?? ''))
}

const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…', copy: '©' },
  ...{ laquo: '«', raquo: '»', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', euro: '€', middot: '·', bull: '•' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è' },
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : ''
  })
}

/** On one line, without control characters. */
function clean(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\p{Cc}|[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim()
}
