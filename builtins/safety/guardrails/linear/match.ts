import { type Node, PatternError, parsePattern } from './parse.ts'

/** A step of the automaton: `one` reads a character; the others read none. */
type Step =
  | { do: 'one'; test: (code: number) => boolean }
  | { do: 'edge'; at: 'start' | 'end' | 'word' | 'inside' }
  | { do: 'fork'; first: number; second: number }
  | { do: 'jump'; to: number }
  | { do: 'found' }

/** Maximum number of steps of a pattern. The cost per character is at most proportional to it. */
const MAX_STEPS = 500

/**
 * A regular expression that is matched in linear time on any text: all paths through the pattern are followed at once,
 * one character at a time (K. Thompson, 'Regular expression search algorithm', CACM 1968; with priorities as in R. Cox,
 * 'Regular Expression Matching: the Virtual Machine Approach', 2009). Its matches cover the same characters as those of
 * the platform's engine.
 */
export class LinearPattern {
  readonly #steps: readonly Step[]
  /** For each step, the character position at which it was last reached. */
  readonly #reached: Uint32Array
  #round = 0

  /** Compiles a pattern. @throws PatternError or SyntaxError for an invalid pattern */
  constructor(source: string, options: { ignoreCase?: boolean } = {}) {
    const steps: Step[] = []
    const pattern = parsePattern(source)
    if (maybeEmpty(pattern)) throw new PatternError('it matches the empty string')
    compile(pattern, steps, tests(options.ignoreCase ? 'iu' : 'u'))
    steps.push({ do: 'found' })
    this.#steps = steps
    this.#reached = new Uint32Array(steps.length)
  }

  /** Returns the spans covered by matches, from left to right, in one pass. Overlapping matches are merged. */
  find(text: string): { start: number; end: number }[] {
    const spans: { start: number; end: number }[] = []
    let threads: Threads = { steps: [], starts: [] }
    for (let at = 0; ; ) {
      const code = at < text.length ? (text.codePointAt(at) as number) : -1
      const ready: Threads = { steps: [], starts: [] }
      this.#round++
      for (let n = 0; n < threads.steps.length; n++) {
        this.#follow(threads.steps[n] as number, threads.starts[n] as number, text, at, ready)
      }
      const found = this.#advance(ready, code)
      if (found !== undefined) cover(spans, found, at)
      // The next match begins where this one ends.
      threads = ready
      if (code < 0) return spans
      const fresh: Threads = { steps: [], starts: [] }
      this.#follow(0, at, text, at, fresh)
      this.#advance(fresh, code)
      threads.steps.push(...fresh.steps)
      threads.starts.push(...fresh.starts)
      at += code > 0xffff ? 2 : 1
    }
  }

  /**
   * Advances all threads by one character. Threads that cannot read it are dropped, and so are those of lower priority
   * than one that has matched. @returns the start of that match
   */
  #advance(threads: Threads, code: number): number | undefined {
    const { steps, starts } = threads
    let kept = 0
    let found: number | undefined
    for (let n = 0; n < steps.length; n++) {
      const step = this.#steps[steps[n] as number] as Step
      if (step.do === 'found') {
        found = starts[n]
        break
      }
      if (step.do !== 'one' || code < 0 || !step.test(code)) continue
      steps[kept] = (steps[n] as number) + 1
      starts[kept++] = starts[n] as number
    }
    steps.length = starts.length = kept
    return found
  }

  /** Follows the steps that read no character, by priority. */
  #follow(first: number, start: number, text: string, at: number, ready: Threads): void {
    const open = [first]
    for (let pc = open.pop(); pc !== undefined; pc = open.pop()) {
      if (this.#reached[pc] === this.#round) continue
      this.#reached[pc] = this.#round
      const step = this.#steps[pc] as Step
      if (step.do === 'fork') open.push(step.second, step.first)
      else if (step.do === 'jump') open.push(step.to)
      else if (step.do === 'edge') {
        if (isEdge(step.at, text, at)) open.push(pc + 1)
      } else {
        ready.steps.push(pc)
        ready.starts.push(start)
      }
    }
  }
}

interface Threads {
  steps: number[]
  starts: number[]
}

/** Adds a match to ordered spans and merges those that it overlaps. */
function cover(spans: { start: number; end: number }[], start: number, end: number): void {
  let from = start
  for (let last = spans.at(-1); last && last.end > from; last = spans.at(-1)) {
    from = Math.min(from, last.start)
    spans.pop()
  }
  spans.push({ start: from, end })
}

function isEdge(edge: 'start' | 'end' | 'word' | 'inside', text: string, at: number): boolean {
  if (edge === 'start') return at === 0
  if (edge === 'end') return at === text.length
  const border = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
  return edge === 'word' ? border : !border
}

/** NaN, the code outside the text, is not a word character. */
function isWord(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
}

function maybeEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'one':
      return false
    case 'edge':
    case 'look':
      return true
    case 'all':
      return node.parts.every(maybeEmpty)
    case 'any':
      return node.parts.some(maybeEmpty)
    case 'repeat':
      return node.min === 0 || maybeEmpty(node.of)
  }
}

type Tests = (atom: string) => (code: number) => boolean

function compile(node: Node, steps: Step[], testOf: Tests): void {
  if (steps.length > MAX_STEPS)
    throw new PatternError(`it compiles to more than ${MAX_STEPS} steps; lower the repeat counts in { }`)
  switch (node.kind) {
    case 'one':
      steps.push({ do: 'one', test: testOf(node.atom) })
      return
    case 'edge':
      steps.push({ do: 'edge', at: node.at })
      return
    case 'all':
      for (const part of node.parts) compile(part, steps, testOf)
      return
    case 'any':
      alternatives(node.parts, steps, testOf)
      return
    case 'repeat':
      repeat(node, steps, testOf)
  }
}

function alternatives(parts: readonly Node[], steps: Step[], testOf: Tests): void {
  const ends: Extract<Step, { do: 'jump' }>[] = []
  for (const [n, part] of parts.entries()) {
    if (n === parts.length - 1) {
      compile(part, steps, testOf)
      break
    }
    const fork: Step = { do: 'fork', first: steps.length + 1, second: 0 }
    steps.push(fork)
    compile(part, steps, testOf)
    const jump: Step = { do: 'jump', to: 0 }
    ends.push(jump)
    steps.push(jump)
    fork.second = steps.length
  }
  for (const jump of ends) jump.to = steps.length
}

function repeat({ of, min, max, lazy }: Extract<Node, { kind: 'repeat' }>, steps: Step[], testOf: Tests): void {
  for (let n = 0; n < min; n++) compile(of, steps, testOf)
  if (max === Infinity) {
    const again = steps.length
    branch(lazy, steps, () => {
      compile(of, steps, testOf)
      steps.push({ do: 'jump', to: again })
    })
    return
  }
  const nest = (left: number): void => {
    if (left === 0) return
    branch(lazy, steps, () => {
      compile(of, steps, testOf)
      nest(left - 1)
    })
  }
  nest(max - min)
}

/** Adds a branch that runs `body` or skips it. */
function branch(lazy: boolean, steps: Step[], body: () => void): void {
  const fork: Extract<Step, { do: 'fork' }> = { do: 'fork', first: steps.length + 1, second: steps.length + 1 }
  steps.push(fork)
  body()
  if (lazy) fork.first = steps.length
  else fork.second = steps.length
}

/** Cache of character tests, by flags and source, shared by all patterns. */
const known = new Map<string, (code: number) => boolean>()

function tests(flags: string): Tests {
  return atom => {
    const name = `${flags} ${atom}`
    const test = known.get(name) ?? memoize(new RegExp(`^${atom}$`, flags))
    known.set(name, test)
    return test
  }
}

/** Caches the platform's answer for each character of the basic plane. */
function memoize(fits: RegExp): (code: number) => boolean {
  const verdicts = new Uint8Array(0x10000)
  return code => {
    if (code > 0xffff) return fits.test(String.fromCodePoint(code))
    if (verdicts[code] === 0) verdicts[code] = fits.test(String.fromCharCode(code)) ? 1 : 2
    return verdicts[code] === 1
  }
}
