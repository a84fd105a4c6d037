import { CONTROL, removeControlCharacters } from '#lib/sanitize'
import { ENTITIES } from './entities.ts'

/** A link of a page, with its text. */
interface Link {
  href: string
  text: string
}

/** A page as text, without markup. */
export interface Page {
  title: string
  /** The page's description, else its beginning. */
  summary: string
  /** Text with one line for each block of the page, and for each row of a table. */
  text: string
  /** Links as written in the page, without duplicates. */
  links: readonly Link[]
}

const LONGEST_TITLE = 200
const LONGEST_SUMMARY = 500
const MOST_LINKS = 200
const LONGEST_LINK = 2_000
/** Prefix of preformatted lines, which keep their spaces. */
const SET = '\u0001'
/** Maximum length of a tag in which attributes are searched, in characters. */
const LONGEST_TAG = 4_000
/** Elements whose content is left out. */
const HIDDEN = new Set('script style noscript template svg iframe object select head'.split(' '))
/** Elements that begin and end a line. */
const BLOCKS = new Set(
  `address article aside blockquote body br dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
  header hr li main nav ol p section summary table tbody thead tr ul`.split(/\s+/),
)

/** Elements whose text stands on the line of their row, behind a separator. */
const CELLS = new Set(['td', 'th'])
const CELL_SEPARATOR = ' | '

interface Tag {
  name: string
  closes: boolean
  /** Text between the angle brackets, up to `LONGEST_TAG` characters. */
  source: string
  /** Position after the tag. */
  end: number
}

/**
 * Returns the text of an HTML page. Runs in linear time, however broken the markup is: a string that was not found is
 * not searched for again.
 */
export function pageOf(html: string): Page {
  const text = new Text()
  const links = new Map<string, string>()
  let title: string | undefined
  let description = ''
  let link: { href: string; from: number } | undefined
  /** Whether text is preformatted (`pre`). */
  let isSet = false
  /** Number of cells of the current row so far. */
  let cells = 0
  const scan = new Scan(html)
  const endLink = () => {
    if (link && links.size < MOST_LINKS && !links.get(link.href)) links.set(link.href, text.since(link.from))
    link = undefined
  }
  for (let at = 0; at < html.length; ) {
    const open = scan.tag(at)
    text.add(collapseSpace(decodeEntities(html.slice(at, open)), isSet))
    if (open === html.length) break
    const tag = tagAt(html, open, scan)
    const { name, closes } = tag
    at = tag.end
    if (name === 'title' && !closes) {
      const end = scan.find('</title', at)
      title ??= oneLine(decodeEntities(html.slice(at, end)))
      at = end
    } else if (name === 'head' && !closes) continue
    else if (name === 'meta') description ||= descriptionIn(tag.source)
    else if (HIDDEN.has(name) && !closes) at = scan.find(`</${name}`, at)
    else if (name === 'a') {
      endLink()
      const href = closes ? '' : attribute(tag.source, 'href')
      if (href) link = { href: href.slice(0, LONGEST_LINK), from: text.length }
    } else if (name === 'pre') {
      isSet = !closes
      text.add(isSet ? `\n${SET}` : '\n')
    } else if (CELLS.has(name)) {
      if (!closes && cells++ > 0) text.add(CELL_SEPARATOR)
    } else if (BLOCKS.has(name)) {
      if (name === 'tr') cells = 0
      text.add(name === 'li' && !closes ? '\n- ' : '\n')
    }
  }
  endLink()
  const lines = text.lines()
  return {
    title: (title ?? '').slice(0, LONGEST_TITLE),
    summary: summaryOf(description || lines),
    text: lines,
    links: [...links].map(([href, words]) => ({ href, text: words })),
  }
}

/** Searches a text forward, and does not repeat searches that found nothing. */
class Scan {
  readonly #text: string
  readonly #lower: string
  readonly #gone = new Set<string>()

  constructor(text: string) {
    this.#text = text
    // Replaces ASCII letters only, so that positions stay the same; names contain no others.
    this.#lower = text.replace(/[A-Z]+/g, run => run.toLowerCase())
  }

  /** Returns the position of the next tag, or the end of the text; any other `<` is a comparison sign. */
  tag(from: number): number {
    const begin = /<[a-z/!?]/g
    begin.lastIndex = from
    return begin.exec(this.#lower)?.index ?? this.#text.length
  }

  /** Returns the position of the next occurrence, or the end of the text. */
  find(mark: string, from: number): number {
    if (this.#gone.has(mark)) return this.#text.length
    const found = this.#lower.indexOf(mark, from)
    if (found >= 0) return found
    this.#gone.add(mark)
    return this.#text.length
  }
}

function tagAt(html: string, open: number, scan: Scan): Tag {
  if (html.startsWith('<!--', open)) {
    return { name: '', closes: false, source: '', end: Math.min(html.length, scan.find('-->', open + 4) + 3) }
  }
  const [, slash, name = ''] = /^<(\/?)([a-z][a-z0-9-]{0,30})?/i.exec(html.slice(open, open + 40)) ?? []
  const end = scan.find('>', open)
  const source = html.slice(open, Math.min(end, open + LONGEST_TAG))
  return { name: name.toLowerCase(), closes: slash === '/', source, end: Math.min(html.length, end + 1) }
}

/** Reads a page's description from a `meta` of its head. */
function descriptionIn(tag: string): string {
  const [name, property] = [attribute(tag, 'name'), attribute(tag, 'property')]
  return /^(?:og:)?description$/i.test(name || property) ? attribute(tag, 'content') : ''
}

function summaryOf(text: string): string {
  return oneLine(text.slice(0, 2 * LONGEST_SUMMARY)).slice(0, LONGEST_SUMMARY)
}

/** Returns the value of an attribute; empty when it is missing. */
function attribute(tag: string, name: string): string {
  const found = new RegExp(`[\\s"']${name}\\s{0,9}=\\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag)
  return decodeEntities(found?.[1] ?? found?.[2] ?? found?.[3] ?? '').trim()
}

/** Text extracted so far, in pieces. */
class Text {
  readonly #pieces: string[] = []
  length = 0

  add(piece: string): void {
    if (piece === '') return
    this.#pieces.push(piece)
    this.length = this.#pieces.length
  }

  /** Returns the words added since there were this number of pieces. */
  since(from: number): string {
    return oneLine(this.#pieces.slice(from).join('')).slice(0, LONGEST_TITLE)
  }

  lines(): string {
    const lines = this.#pieces
      .join('')
      .split('\n')
      .map(line => (line.startsWith(SET) ? line.replace(CONTROL, '').trimEnd() : oneLine(line).replace(/^[| ]+$/, '')))
    return lines.filter(line => line !== '' && line !== '-').join('\n')
  }
}

/** Returns the text of a response by its content type; undefined for content that is not text. */
export function readPage(body: Uint8Array, type: string | null): Page | undefined {
  const [media = '', ...parameters] = (type ?? 'text/html').toLowerCase().split(';')
  if (!/^(?:text\/|application\/(?:json|xml|[\w.-]+\+(?:json|xml))$)/.test(media.trim())) return undefined
  const charset = parameters.map(each => /^\s*charset\s*=\s*"?([\w.:-]+)/.exec(each)?.[1]).find(Boolean)
  const text = decoderOf(charset).decode(body)
  if (/html/.test(media)) return pageOf(text)
  const plain = removeControlCharacters(text)
  return { title: '', summary: summaryOf(plain), text: plain, links: [] }
}

function decoderOf(charset = 'utf-8'): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : ''
  })
}

/** Collapses white space as browsers do; preformatted text keeps its line breaks. */
function collapseSpace(text: string, isSet: boolean): string {
  return isSet ? text.replace(/\r?\n/g, `\n${SET}`) : text.replace(/\s+/g, ' ')
}

export function oneLine(text: string): string {
  return removeControlCharacters(text.replace(/\s+/g, ' '))
}
