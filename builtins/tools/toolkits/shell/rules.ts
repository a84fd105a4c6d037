/** What the value of an option is: a path is held to the workspace, a text is any. */
type Value = 'text' | 'path'

/** What one program may be given. All that is not named here is refused, in whatever spelling. */
export interface Rule {
  /** Its options of one letter without a value. */
  flags?: string
  /** Its options of one letter with one. */
  values?: Readonly<Record<string, Value>>
  /** Its long options; null without a value. Abbreviations are refused. */
  long?: Readonly<Record<string, Value | null>>
  /** Takes a count as an option, as in `-5`. */
  counts?: boolean
  /** Its other arguments: paths, texts, program names; a text and then paths, unless one of `instead` gave the text. */
  rest: 'paths' | 'texts' | 'format, texts' | 'names' | 'formats' | 'text, paths' | 'expression'
  instead?: string
  /** It changes what is at the paths. */
  changes?: boolean
  /** Its options of one letter with which it works on whole folders. */
  deep?: string
  /** Given always: it would follow or write through links else. */
  forced?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** It takes no `--` before its arguments. */
  bare?: boolean
  /** A text that would reach files that are not among its arguments. */
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
      ...{ regexp: 'text', include: 'text', exclude: 'text', 'exclude-dir': 'text' },
      ...{ 'ignore-case': null, 'line-number': null, count: null, recursive: null, 'only-matching': null },
    },
    counts: true,
    ...{ rest: 'text, paths', instead: 'e' },
  },
  wc: { flags: 'lwcmL', rest: 'paths' },
  sort: { flags: 'nrufhVsbgMRz', values: { k: 'text', t: 'text', o: 'path' }, rest: 'paths', changes: true },
  uniq: { flags: 'cduiDz', values: { f: 'text', s: 'text', w: 'text' }, rest: 'paths', changes: true },
  cut: {
    flags: 's',
    ...{ values: { d: 'text', f: 'text', c: 'text', b: 'text' }, rest: 'paths' },
    long: { complement: null, 'output-delimiter': 'text' },
  },
  diff: {
    flags: 'urqNwbiByacdEs',
    deep: 'r',
    values: { U: 'text', C: 'text' },
    ...{ long: { brief: null, unified: null, 'side-by-side': null }, rest: 'paths', forced: ['--no-dereference'] },
  },
  tr: { flags: 'dscCt', rest: 'texts' },
  jq: {
    flags: 'rcnsejSMaC',
    long: { 'raw-output': null, compact: null, 'compact-output': null, slurp: null, 'null-input': null, tab: null },
    // It reads a module from the home folder by itself, and a module can read any file.
    ...{ rest: 'text, paths', bare: true, env: { HOME: '/dev/null' }, forbidden: /\b(import|include)\b/ },
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
    ...{ long: { recursive: null }, rest: 'paths', changes: true, forced: ['--remove-destination'] },
  },
  mv: { flags: 'vnfu', rest: 'paths', changes: true },
  rm: { flags: 'rRfvd', deep: 'rR', long: { recursive: null, force: null }, rest: 'paths', changes: true },
}

/** Programs that run any other program: only the sandbox contains them. */
export const DEV_COMMANDS: readonly string[] = [
  ...['python', 'python3', 'pip', 'node', 'npm', 'npx', 'tsc', 'go', 'cargo', 'rustc', 'gcc', 'make', 'pytest'],
  ...['git', 'curl', 'sed', 'awk', 'env', 'find', 'xargs', 'patch', 'tar', 'gzip', 'unzip', 'chmod', 'ln'],
]
