/** Type of an option's value: a path must be in the workspace, a text may be anything. */
type Value = 'text' | 'path'

/** Allowed arguments of one program. Anything not listed here is refused, in any spelling. */
export interface Rule {
  /** Short options without a value. */
  flags?: string
  /** Short options with a value. */
  values?: Readonly<Record<string, Value>>
  /** Long options; null without a value. Abbreviations are refused. */
  long?: Readonly<Record<string, Value | null>>
  /** Whether a count is accepted as an option, as in `-5`. */
  counts?: boolean
  /**
   * Kind of the other arguments: paths, texts, program names; or a text and then paths, unless an option of `instead`
   * gave the text.
   */
  rest: 'paths' | 'texts' | 'format, texts' | 'names' | 'formats' | 'text, paths' | 'expression'
  instead?: string
  /** Whether the program changes the files at its paths. */
  changes?: boolean
  /** Short options with which the program works on whole folders. */
  deep?: string
  /** Options that are always added, because without them the program would follow or write through links. */
  forced?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Whether the program does not accept `--` before its arguments. */
  bare?: boolean
  /** Texts that would reach files other than the arguments. */
  forbidden?: RegExp
}

/** The programs of the restricted tier. */
export const RULES: Readonly<Record<string, Rule>> = {
  ls: { flags: 'lahARtrS1dsFpin', deep: 'R', rest: 'paths' },
  cat: { flags: 'nbsAETv', rest: 'paths' },
  head: {
    flags: 'qv',
    values: { n: 'text', c: 'text' },
    long: { lines: 'text', bytes: 'text' },
    counts: true,
    rest: 'paths',
  },
  tail: {
    flags: 'qv',
    values: { n: 'text', c: 'text' },
    long: { lines: 'text', bytes: 'text' },
    counts: true,
    rest: 'paths',
  },
  grep: {
    flags: 'ivnclLowxrEFPqhHsaz',
    deep: 'r',
    values: { e: 'text', A: 'text', B: 'text', C: 'text', m: 'text' },
    long: {
      regexp: 'text',
      include: 'text',
      exclude: 'text',
      'exclude-dir': 'text',
      'ignore-case': null,
      'line-number': null,
      count: null,
      recursive: null,
      'only-matching': null,
    },
    counts: true,
    rest: 'text, paths',
    instead: 'e',
  },
  wc: { flags: 'lwcmL', rest: 'paths' },
  sort: { flags: 'nrufhVsbgMRz', values: { k: 'text', t: 'text', o: 'path' }, rest: 'paths', changes: true },
  uniq: { flags: 'cduiDz', values: { f: 'text', s: 'text', w: 'text' }, rest: 'paths', changes: true },
  cut: {
    flags: 's',
    values: { d: 'text', f: 'text', c: 'text', b: 'text' },
    rest: 'paths',
    long: { complement: null, 'output-delimiter': 'text' },
  },
  diff: {
    flags: 'urqNwbiByacdEs',
    deep: 'r',
    values: { U: 'text', C: 'text' },
    long: { brief: null, unified: null, 'side-by-side': null },
    rest: 'paths',
    forced: ['--no-dereference'],
  },
  tr: { flags: 'dscCt', rest: 'texts' },
  jq: {
    flags: 'rcnsejSMaC',
    long: { 'raw-output': null, compact: null, 'compact-output': null, slurp: null, 'null-input': null, tab: null },
    // The program would load a module from the home folder, and a module can read any file.
    rest: 'text, paths',
    bare: true,
    env: { HOME: '/dev/null' },
    forbidden: /\b(import|include)\b/,
  },
  echo: { rest: 'expression' },
  printf: { rest: 'format, texts' },
  test: { rest: 'expression' },
  pwd: { flags: 'LP', rest: 'names' },
  date: { flags: 'uRI', values: { d: 'text' }, long: { utc: null, date: 'text', 'iso-8601': null }, rest: 'formats' },
  which: { flags: 'a', rest: 'names' },
  touch: { flags: 'cam', values: { d: 'text', t: 'text' }, rest: 'paths', changes: true },
  mkdir: { flags: 'pv', long: { parents: null }, rest: 'paths', changes: true },
  cp: {
    flags: 'rRapvnfu',
    deep: 'rRa',
    long: { recursive: null },
    rest: 'paths',
    changes: true,
    forced: ['--remove-destination'],
  },
  mv: { flags: 'vnfu', rest: 'paths', changes: true },
  rm: { flags: 'rRfvd', deep: 'rR', long: { recursive: null, force: null }, rest: 'paths', changes: true },
}

/** Programs that can run any other program; only a sandbox contains them. */
export const DEV_COMMANDS: readonly string[] = [
  'python',
  'python3',
  'pip',
  'node',
  'npm',
  'npx',
  'tsc',
  'go',
  'cargo',
  'rustc',
  'gcc',
  'make',
  'pytest',
  'git',
  'curl',
  'sed',
  'awk',
  'env',
  'find',
  'xargs',
  'patch',
  'tar',
  'gzip',
  'unzip',
  'chmod',
  'ln',
]
