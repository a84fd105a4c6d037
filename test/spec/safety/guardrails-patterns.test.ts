import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '#safety/guardrails/fold'
import { FAMILIES } from '#safety/guardrails/injection/index'
import { expressionsOf } from '#safety/guardrails/injection/phrases'
import { LinearPattern } from '#safety/guardrails/linear/match'
import { type Node, parsePattern } from '#safety/guardrails/linear/parse'
import { EXPRESSIONS } from '#safety/guardrails/pii/index'
import { Prefilter } from '#safety/guardrails/prefilter/prefilter'
import { SeededRandom } from './guardrails/random.ts'

process.env.RECHECK_BACKEND = 'pure'
const { checkSync } = createRequire(import.meta.url)('recheck') as typeof import('recheck')

const MODULE = resolve(import.meta.dirname, '../../../builtins/safety/guardrails')
const LITERAL =
  /(?<=[=(,:!&|?[]\s{0,9}|^\s+|return )\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([a-z]*)(?=[\s.,;)\]])/gm

/** Regular expression literals in the files of the module. */
const literals = readdirSync(MODULE, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .flatMap(file => [...readFileSync(join(MODULE, file), 'utf8').matchAll(LITERAL)])
  .map(([, source = '', flags]) => new RegExp(source, flags))
/** Expressions that are built at run time. */
const made = [...EXPRESSIONS, ...FAMILIES.flatMap(expressionsOf)]
const expressions = [...new Map([...literals, ...made].map(expression => [String(expression), expression])).values()]

/**
 * Returns the source with small repeat counts and without a leading look-behind. Bounded repeats cost a constant but
 * overload the checker; a look-behind, which it does not support, only rules out matches. If the reduced source is
 * linear, so is the original.
 */
const essence = (source: string) =>
  source
    .replace(/\{(\d+)(,?)(\d*)\}/g, (_, least: string, comma: string, most: string) => {
      return `{${Math.min(Number(least), 2)}${comma}${most && Math.min(Number(most), 3)}}`
    })
    .replace(/^\(\?<[!=](?:\[[^\]]*\]|\\b\(\?:[^)]*\)|[^()[\]])*\)/, '')

describe('every regular expression of the guardrails', () => {
  it('runs in time that is linear in the length of the text', { timeout: 240_000 }, () => {
    expect(literals.length).toBeGreaterThan(50)
    expect(made.length).toBeGreaterThan(150)
    const judge = ({ source, flags }: RegExp) =>
      checkSync(essence(source), flags, { checker: 'automaton', timeout: 20_000 }).status
    // The status `safe` means linear or better.
    expect(expressions.filter(expression => judge(expression) !== 'safe')).toEqual([])
  })

  it('is judged by a check that recognises non-linear ones', () => {
    expect(checkSync('^([a-zA-Z0-9_.+-]+)+@x', '', { checker: 'automaton' }).status).toBe('vulnerable')
    expect(checkSync('a+b', 'g', { checker: 'automaton' }).status).toBe('vulnerable')
  })
})

const ALPHABET = [
  ...'aeinrstxz059 .-_:;,/@([<{"#\n忽é',
  ...Array.from({ length: 128 }, (_, n) => String.fromCharCode(n)),
]

/** Returns a text that matches a pattern, ignoring its conditions on the surrounding text. */
function textMatching(draw: SeededRandom, node: Node): string {
  switch (node.kind) {
    case 'edge':
    case 'look':
      return ''
    case 'one': {
      const from = draw.int(0, 20)
      const fits = new RegExp(`^${node.atom}$`, 'u')
      return [...ALPHABET.slice(from), ...ALPHABET].find(char => fits.test(char)) ?? node.atom
    }
    case 'all':
      return node.parts.map(part => textMatching(draw, part)).join('')
    case 'any':
      return textMatching(draw, draw.pick(node.parts))
    case 'repeat': {
      const times = draw.int(node.min, Math.min(node.max, node.min + 6))
      return Array.from({ length: times }, () => textMatching(draw, node.of)).join('')
    }
  }
}

describe('an expression with the prefilter', () => {
  it('matches the same as without it', () => {
    const prefilter = new Prefilter(() => made)
    const alone = (expression: RegExp, text: string) => {
      expression.lastIndex = 0
      return [...text.matchAll(expression)].map(({ 0: found, index }) => `${index}-${index + found.length}`).join()
    }
    const draw = new SeededRandom(20260105)
    const patterns = made.map(({ source }) => parsePattern(source, { looks: true }))
    let found = 0
    const differing: unknown[] = []
    for (const [n, pattern] of patterns.entries()) {
      for (let times = 0; times < 4; times++) {
        const match = textMatching(draw, pattern)
        const far = 'Lorem ipsum dolor. '.repeat(draw.int(0, 12))
        const half = match.slice(0, match.length / 2)
        const text = `${far}${match} ${half} x ${match.slice(1)}${far} ${half}${match}${match}`
        for (const asked of [made[n] as RegExp, draw.pick(made)]) {
          const spans = [...prefilter.matches(text, asked)].map(({ start, end }) => `${start}-${end}`).join()
          if (spans !== alone(asked, text)) differing.push([asked, text, spans])
          if (spans) found++
        }
      }
    }
    expect(differing).toEqual([])
    expect(found).toBeGreaterThan(500)
  })
})

/** Returns where a native RegExp matches, with overlaps merged as in redaction. */
function native(source: string, flags: string, text: string): string {
  const covered = [...text].fill('.')
  for (const { 0: found, index } of text.matchAll(new RegExp(source, `gu${flags}`))) {
    for (let n = 0; n < found.length; n++) covered[index + n] = '#'
  }
  return covered.join('')
}

function linear(source: string, ignoreCase: boolean, text: string): string {
  const covered = [...text].fill('.')
  for (const { start, end } of new LinearPattern(source, { ignoreCase }).find(text)) covered.fill('#', start, end)
  return covered.join('')
}

/** Patterns over few letters, so that they match often; none matches the empty string. */
const pattern = fc.letrec<{ any: string; one: string; two: string; either: string; often: string; whole: string }>(
  tie => ({
    one: fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^b]', '\\w', 'A', '\\d', '-'),
    two: fc.tuple(tie('any'), tie('any')).map(([one, two]) => one + two),
    either: fc.tuple(tie('any'), tie('any')).map(([one, two]) => `(?:${one}|${two})`),
    often: fc
      .tuple(tie('any'), fc.constantFrom('+', '{2}', '{1,3}', '{2,}', '+?', '{1,2}?'))
      .map(([one, times]) => `(?:${one})${times}`),
    any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('one'), tie('two'), tie('either'), tie('often')),
    whole: fc
      .tuple(
        fc.constantFrom('', '', '\\b', '^'),
        tie('any'),
        fc.constantFrom('', '(?:b|c)?', 'a*', 'b*?c', '', '\\b', '$'),
      )
      .map(([before, middle, after]) => before + middle + after),
  }),
).whole

describe('configured patterns', () => {
  it('match the same as a native RegExp', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '1', '-', ' '), maxLength: 30 })
    fc.assert(
      fc.property(pattern, text, fc.boolean(), (source, given, ignoreCase) => {
        expect(linear(source, ignoreCase, given)).toBe(native(source, ignoreCase ? 'i' : '', given))
      }),
      { numRuns: 3000 },
    )
  })

  it.each([
    ['\\p{Lu}\\w+', 'éa Bob', 'Bob'],
    ['[\\u{1F600}-\\u{1F64F}]', 'a 😀 b', '😀'],
    ['\\ud83d\\ude00', 'a 😀 b', '😀'],
    ['\\x41\\u0042', 'ABC', 'AB'],
    ['a.c', 'a\nc abc', 'abc'],
    ['(?:ab|a)(?:c|bcd)', 'abcd', 'abc'],
  ])('support the escapes of a native RegExp: %s', (source, text, found) => {
    const [span] = new LinearPattern(source).find(text)
    expect(text.slice(span?.start, span?.end)).toBe(found)
  })

  it('run in linear time where a native RegExp does not', () => {
    const text = 'a'.repeat(50_000)
    const begun = process.cpuUsage()
    expect(new LinearPattern('^([a-zA-Z0-9_.+-]+)+@x').find(text)).toEqual([])
    expect(new LinearPattern('(?:a+)+b').find(text)).toEqual([])
    expect(new LinearPattern('a(?:.*b)?').find(text)).toHaveLength(50_000)
    expect(process.cpuUsage(begun).user / 1000).toBeLessThan(3000)
  })
})

describe('text as seen by rules', () => {
  it.each([
    ['ｉｇｎｏｒｅ', 'ignore'],
    ['іgnоrе аll', 'ignore all'],
    ['ig\u200bno\u00adre', 'ignore'],
    ['\u202eignore', 'ignore'],
    ['𝐢𝐠𝐧𝐨𝐫𝐞', 'ignore'],
    ['ïgnörê', 'ignore'],
    ['ɪɢɴᴏʀᴇ', 'ignore'],
    ['\u{e0069}\u{e0067}', 'ig'],
    ['‘a’ – “b”', '\'a\' - "b"'],
    ['ﬁle', 'file'],
    ['\ud83d \u{20000}', '\ud83d \u{20000}'],
  ])('turns %j into %j', (given, read) => {
    expect(fold(given).text).toBe(read)
  })

  it('maps matches back to the original text, whatever it contains', () => {
    const unit = fc.oneof(fc.nat({ max: 0xffff }), fc.nat({ max: 0x10ffff })).map(code => String.fromCodePoint(code))
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.string({ unit, maxLength: 40 }), (before, after) => {
        const given = `${before}\u0001needle\u0001${after}`
        const view = fold(given)
        const at = view.text.indexOf('needle')
        const { start, end } = view.span(at, at + 6)
        expect(given.slice(start, end)).toContain('needle')
        // Only invisible characters may be included.
        expect(fold(given.slice(start, end)).text).toBe('needle')
      }),
    )
  })
})
