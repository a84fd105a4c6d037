/** Normalised text, with the positions in the original. */
export interface View {
  readonly text: string
  /** Returns the position of a span of this view in the original text. */
  span(start: number, end: number): { start: number; end: number }
}

/** Letters that look like Latin ones. Both cases fold alike, so that words of other scripts stay whole. */
const LOOKALIKES: readonly (readonly [string, string])[] = [
  ['авекмнорстухіјѕһԁԛԝӏ', 'abekmhopctyxijshdqwl'],
  ['АВЕКМНОРСТУХІЈЅҺԀԚԜӀ', 'ABEKMHOPCTYXIJSHDQWL'],
  ['αβεζηικνορτυχγω', 'abeznikvoptuxyw'],
  ['ΑΒΕΖΗΙΚΝΟΡΤΥΧΜ', 'ABEZHIKNOPTYXM'],
  ['ıłøđħȷɑɡɩʟɪɢɴᴏʀʜᴀʙᴄᴅᴇᴊᴋᴍᴘꜱᴛᴜᴠᴡʏᴢꜰ', 'ilodhjagilignorhabcdejkmpstuvwyzf'],
  ['ŁØĐĦ', 'LODH'],
  ['‘’‚‛′“”„‟«»', `'''''""""""`],
  ['‐‑‒–—―−⁃﹘', '---------'],
]

const FOLDED = new Map<string, string>(
  LOOKALIKES.flatMap(([from, to]) => [...from].map((letter, n): [string, string] => [letter, to[n] as string])),
)

/** Invisible characters: marks, zero-width and direction signs, variation selectors, fillers. */
const UNSEEN = /[\p{M}\p{Cf}\u115f\u1160\u3164\uffa0]/u
/** ASCII letters written invisibly as Unicode tags (from U+E0000), or visibly as squared and circled letters. */
const ALPHABETS: readonly (readonly [first: number, last: number, to: number])[] = [
  [0xe0020, 0xe007e, 0x20],
  [0x1f130, 0x1f149, 0x41],
  [0x1f150, 0x1f169, 0x41],
  [0x1f170, 0x1f189, 0x41],
  [0x1f1e6, 0x1f1ff, 0x41],
]

/**
 * Maximum length that one character may fold to. Some ligatures stand for whole phrases and would make the text
 * eighteen times longer.
 */
const LONGEST = 6

/** Returns the folded character; empty if it is invisible. */
function foldOne(character: string): string {
  const code = character.codePointAt(0) as number
  const alphabet = ALPHABETS.find(([first, last]) => code >= first && code <= last)
  if (alphabet) return String.fromCharCode(code - alphabet[0] + alphabet[2])
  let folded = ''
  for (const letter of character.normalize('NFKD')) {
    if (!UNSEEN.test(letter)) folded += FOLDED.get(letter) ?? letter
  }
  return folded.length > LONGEST ? character : folded
}

/**
 * Cache of folded characters of the first two planes. Later planes are mostly ideographs and unassigned, and are not
 * cached.
 */
const UNKNOWN = 0
const SAME = 0xdc00
const OTHERWISE = 0xffff
const tables: (Uint16Array | undefined)[] = []
const otherwise = new Map<number, string>()

function entry(code: number): number {
  const table = tables[code >> 16] ?? new Uint16Array(0x10000)
  tables[code >> 16] = table
  const known = table[code & 0xffff] as number
  if (known !== UNKNOWN) return known
  const character = String.fromCodePoint(code)
  const folded = foldOne(character)
  const decided = folded === character ? SAME : folded.length === 1 ? folded.charCodeAt(0) : OTHERWISE
  if (decided === OTHERWISE) otherwise.set(code, folded)
  table[code & 0xffff] = decided
  return decided
}

/** Returns whether a character folds to itself: ideographs, unassigned planes and private use. */
function isPlain(code: number): boolean {
  return (code >= 0x20000 && code < 0x2f800) || (code >= 0x2fa20 && code < 0xe0000) || code >= 0xe0200
}

/**
 * Folds compatibility forms (NFKD), accents, look-alike letters and invisible characters to what a reader sees. Takes
 * linear time; plain ASCII is returned unchanged.
 */
export function fold(text: string): View {
  if (!/[\u0080-\uffff]/.test(text)) return { text, span: (start, end) => ({ start, end }) }
  const made = new Rewriting(text.length)
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) {
      made.add(unit, at)
      continue
    }
    const code = (unit & 0xfc00) === 0xd800 ? (text.codePointAt(at) as number) : unit
    const folded = isPlain(code) ? SAME : entry(code)
    if (folded === SAME) {
      made.add(unit, at)
      if (code > 0xffff) made.add(text.charCodeAt(at + 1), at)
    } else if (folded !== OTHERWISE) made.add(folded, at)
    else made.addAll(otherwise.get(code) as string, at)
    if (code > 0xffff) at++
  }
  return made.view()
}

/** Builds a text; each of its UTF-16 units keeps its position in the original. */
export class Rewriting {
  readonly #length: number
  #units: Uint16Array
  #origins: Uint32Array
  #size = 0
  #seen = 0

  /** @param length of the original text */
  constructor(length: number) {
    this.#length = length
    this.#units = new Uint16Array(length + 1)
    this.#origins = new Uint32Array(length + 1)
  }

  add(unit: number, origin: number): void {
    // One entry is reserved for the end position.
    if (this.#size + 1 >= this.#units.length) this.#grow()
    this.#units[this.#size] = unit
    this.#origins[this.#size++] = origin
    this.#seen |= unit
  }

  addAll(piece: string, origin: number): void {
    for (let n = 0; n < piece.length; n++) this.add(piece.charCodeAt(n), origin)
  }

  view(): View {
    const size = this.#size
    const origins = this.#origins
    origins[size] = this.#length
    return {
      text: textOf(this.#units.subarray(0, size), this.#seen),
      span(start, end) {
        let past = end
        // All units that one character was folded to have the same origin.
        while (past < size && origins[past] === origins[past - 1]) past++
        return { start: origins[start] as number, end: origins[past] as number }
      },
    }
  }

  #grow(): void {
    const units = new Uint16Array(this.#units.length * 2 + 16)
    const origins = new Uint32Array(units.length)
    units.set(this.#units)
    origins.set(this.#origins)
    this.#units = units
    this.#origins = origins
  }
}

/** @param seen bitwise OR of all units; a text within Latin 1 is stored in half the space */
export function textOf(units: Uint16Array, seen: number): string {
  if (seen < 0x100) return Buffer.from(units).toString('latin1')
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString('utf16le')
}
