/** Text as rules read it, with the way back to the text as given. */
export interface View {
  readonly text: string
  /** Where a span of this view lies in the text that it was made from. */
  span(start: number, end: number): { start: number; end: number }
}

/** Letters that look like Latin ones. Upper and lower case fold alike, so that words of their own scripts stay words. */
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

/** Not there for a reader: marks, formats such as zero-width and direction signs, variation selectors, fillers. */
const UNSEEN = /[\p{M}\p{Cf}\u115f\u1160\u3164\uffa0]/u
/** Letters of plain ASCII that tags of U+E0000 spell invisibly, and that squares and circles of emoji spell visibly. */
const ALPHABETS: readonly (readonly [first: number, last: number, to: number])[] = [
  [0xe0020, 0xe007e, 0x20],
  [0x1f130, 0x1f149, 0x41],
  [0x1f150, 0x1f169, 0x41],
  [0x1f170, 0x1f189, 0x41],
  [0x1f1e6, 0x1f1ff, 0x41],
]

const known = new Map<number, string>()
/** Characters remembered at most: more than any text has that is no attack. */
const REMEMBERED = 32_768

/** One character as rules read it; empty when nobody sees it. */
function foldOne(code: number): string {
  let folded = known.get(code)
  if (folded !== undefined) return folded
  const alphabet = ALPHABETS.find(([first, last]) => code >= first && code <= last)
  if (alphabet) folded = String.fromCharCode(code - alphabet[0] + alphabet[2])
  else {
    folded = ''
    for (const letter of String.fromCodePoint(code).normalize('NFKD')) {
      if (!UNSEEN.test(letter)) folded += FOLDED.get(letter) ?? letter
    }
  }
  if (known.size >= REMEMBERED) known.clear()
  known.set(code, folded)
  return folded
}

/**
 * Folds compatibility forms (NFKD), accents, look-alike letters and invisible characters into what a reader takes them for.
 * Linear; plain ASCII costs nothing.
 */
export function fold(text: string): View {
  if (!/[\u0080-\uffff]/.test(text)) return { text, span: (start, end) => ({ start, end }) }
  return rewritten(text.length, keep => {
    let at = 0
    for (const { 0: strange, index } of text.matchAll(/[\u0080-\uffff]+/g)) {
      keep(at, text.slice(at, index), true)
      at = index
      for (const character of strange) {
        keep(at, foldOne(character.codePointAt(0) as number))
        at += character.length
      }
    }
    keep(at, text.slice(at), true)
  })
}

/** Adds a piece that was made from what stands at `origin`; a verbatim one character by character. */
export type Keep = (origin: number, piece: string, verbatim?: boolean) => void

/** A text made anew in pieces; each remembers the place that it was made from. */
export function rewritten(length: number, write: (keep: Keep) => void): View {
  let origins = new Uint32Array(length + 1)
  const pieces: string[] = []
  let size = 0
  write((origin, piece, verbatim = false) => {
    if (size + piece.length >= origins.length) {
      const larger = new Uint32Array((size + piece.length) * 2)
      larger.set(origins)
      origins = larger
    }
    for (let n = 0; n < piece.length; n++) origins[size++] = verbatim ? origin + n : origin
    pieces.push(piece)
  })
  origins[size] = length
  return {
    text: pieces.join(''),
    span(start, end) {
      let past = end
      // What one character became stays together.
      while (past < size && origins[past] === origins[past - 1]) past++
      return { start: origins[start] as number, end: origins[past] as number }
    },
  }
}
