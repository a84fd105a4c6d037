import { edit, type Files, list, passesTests, project, read, run, type WorkGoal, write } from './kit.ts'

interface Wish {
  name: string
  title: string
  asks: string
  files: Files
  /** A command that shows that the wish came true. */
  shows: string
  imports?: string
  hidden: Files
  steps: () => WorkGoal['solution'] extends () => infer R ? R : never
}

/** A program that is to do more than it does. */
function wish({ name, title, asks, files, shows, imports = '', hidden, steps }: Wish): WorkGoal {
  return {
    name,
    title,
    asks,
    files: project(files),
    acceptance: [{ command: shows }],
    checks: { 'hidden tests of the requested behaviour pass': passesTests(imports + RUNS, hidden) },
    solution: () => [list(), ...steps(), run(shows)],
  }
}

/** For hidden tests: runs a program of the project, and gives its output and exit code. */
const RUNS =
  "\nimport { spawnSync } from 'node:child_process'\nconst program = (...args) => {\n  const { stdout, stderr, status } = spawnSync('node', args, { encoding: 'utf8' })\n  return { out: stdout, err: stderr, status }\n}"

const LIST = `const args = process.argv.slice(2)
const unknown = args.find(arg => arg.startsWith('-'))
if (unknown) {
  console.error('unknown option: ' + unknown)
  process.exit(2)
}
const items = [{ name: 'tea', price: 3 }, { name: 'salt', price: 1 }]
for (const { name, price } of items) console.log(name + ' ' + price)
`

const WORDS = `import { readFileSync } from 'node:fs'

const [path] = process.argv.slice(2)
const words = readFileSync(path, 'utf8').split(/\\s+/).filter(Boolean)
console.log(words.length)
`

const QUEUE = `export class Queue {
  #items = []

  push(item) {
    this.#items.push(item)
  }

  pop() {
    return this.#items.shift()
  }
}
`

const RETRY = `/** Calls a function until it succeeds, at most \`times\` times. */
export async function retry(times, fn) {
  let last
  for (let n = 0; n < times; n++) {
    try {
      return await fn()
    } catch (error) {
      last = error
    }
  }
  throw last
}
`

const CONVERT = `const UNITS = { m: 1, km: 1000, cm: 0.01 }

export function convert(value, from, to) {
  return (value * UNITS[from]) / UNITS[to]
}
`

const CONFIG = `import { readFileSync } from 'node:fs'

export const DEFAULTS = { port: 8000, host: 'localhost' }

export function load(path) {
  return { ...DEFAULTS, ...JSON.parse(readFileSync(path, 'utf8')) }
}
`

const EVENTS = `export class Events {
  #listeners = new Map()

  on(name, fn) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), fn])
  }

  emit(name, value) {
    for (const fn of this.#listeners.get(name) ?? []) fn(value)
  }
}
`

const TASKS = `import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const FILE = 'todo.json'
const items = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : []
const [command, ...words] = process.argv.slice(2)

if (command === 'add') {
  items.push({ text: words.join(' '), done: false })
  writeFileSync(FILE, JSON.stringify(items))
} else if (command === 'list') {
  items.forEach(({ text, done }, n) => console.log(n + 1 + ' [' + (done ? 'x' : ' ') + '] ' + text))
} else {
  console.error('usage: todo.js add <text> | list')
  process.exit(2)
}
`

export const EXTEND: readonly WorkGoal[] = [
  wish({
    name: 'add-json',
    title: 'Add an option --json to a list',
    asks: 'Add an option --json to list.js: with it the items are printed as one JSON array of {"name", "price"}. Other options are refused as before.',
    files: { 'list.js': LIST },
    shows: 'node list.js --json',
    hidden: {
      'with it':
        "assert.deepEqual(JSON.parse(program('list.js', '--json').out), [{ name: 'tea', price: 3 }, { name: 'salt', price: 1 }])",
      'without it': "assert.equal(program('list.js').out, 'tea 3\\nsalt 1\\n')",
      others: "assert.equal(program('list.js', '--yaml').status, 2)",
    },
    steps: () => [
      read('list.js'),
      edit('list.js', "arg.startsWith('-'))", "arg.startsWith('-') && arg !== '--json')"),
      edit(
        'list.js',
        "for (const { name, price } of items) console.log(name + ' ' + price)",
        "if (args.includes('--json')) console.log(JSON.stringify(items))\nelse for (const { name, price } of items) console.log(name + ' ' + price)",
      ),
    ],
  }),
  wish({
    name: 'add-unique',
    title: 'Add an option that counts distinct words',
    asks: 'words.js counts the words of a file. With the option --unique before the file, it must count distinct words, ignoring case. Try it with text.txt: node words.js --unique text.txt prints 4.',
    files: { 'words.js': WORDS, 'text.txt': 'The tide and the moon\nAnd the tide\n' },
    shows: 'node words.js --unique text.txt',
    hidden: {
      'different words': "assert.equal(program('words.js', '--unique', 'text.txt').out.trim(), '4')",
      'all words': "assert.equal(program('words.js', 'text.txt').out.trim(), '8')",
    },
    steps: () => [
      read('words.js'),
      edit(
        'words.js',
        'const [path] = process.argv.slice(2)',
        "const args = process.argv.slice(2)\nconst path = args.find(arg => arg !== '--unique')",
      ),
      edit(
        'words.js',
        'console.log(words.length)',
        "const counted = args.includes('--unique') ? new Set(words.map(word => word.toLowerCase())).size : words.length\nconsole.log(counted)",
      ),
    ],
  }),
  wish({
    name: 'add-priority',
    title: 'Add priorities to a queue',
    asks: 'Let Queue in src/queue.js take priorities: push(item, priority = 0). pop() returns the item with the highest priority; of several, the oldest. Write tests for it in test/queue.test.js that node --test test/queue.test.js runs.',
    files: { 'src/queue.js': QUEUE },
    shows: 'node --test test/queue.test.js',
    imports: "import { Queue } from '../src/queue.js'",
    hidden: {
      'the highest first, then the oldest':
        "const queue = new Queue()\n  for (const [item, priority] of [['a', 1], ['b', 2], ['c', 2], ['d']]) queue.push(item, priority)\n  assert.deepEqual([1, 2, 3, 4, 5].map(() => queue.pop()), ['b', 'c', 'a', 'd', undefined])",
    },
    steps: () => [
      read('src/queue.js'),
      edit(
        'src/queue.js',
        '  push(item) {\n    this.#items.push(item)\n  }\n\n  pop() {\n    return this.#items.shift()\n  }',
        '  push(item, priority = 0) {\n    const at = this.#items.findIndex(each => each.priority < priority)\n    this.#items.splice(at < 0 ? this.#items.length : at, 0, { item, priority })\n  }\n\n  pop() {\n    return this.#items.shift()?.item\n  }',
      ),
      write(
        'test/queue.test.js',
        "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { Queue } from '../src/queue.js'\n\ntest('the highest priority comes first', () => {\n  const queue = new Queue()\n  queue.push('low')\n  queue.push('high', 5)\n  assert.equal(queue.pop(), 'high')\n})\n",
      ),
    ],
  }),
  wish({
    name: 'add-backoff',
    title: 'Waiting between retries',
    asks: 'retry in src/retry.js tries again at once. Give it a third parameter options with wait (milliseconds before the second try, default 0) and factor (each further wait is that many times longer, default 2), and sleep (a function that waits, for tests; by default a timer). After the last failure it does not wait. Write demo.js that shows it and exits with 0.',
    files: { 'src/retry.js': RETRY },
    shows: 'node demo.js',
    imports: "import { retry } from '../src/retry.js'",
    hidden: {
      'waits grow, and none follows the last failure':
        "const waits = []\n  const sleep = async ms => { waits.push(ms) }\n  await assert.rejects(retry(4, async () => { throw new Error('no') }, { wait: 10, factor: 3, sleep }), /no/)\n  assert.deepEqual(waits, [10, 30, 90])",
      'as before without it':
        'let n = 0\n  assert.equal(await retry(3, async () => { if (++n < 3) throw new Error(); return n }), 3)',
    },
    steps: () => [
      read('src/retry.js'),
      edit(
        'src/retry.js',
        'export async function retry(times, fn) {\n  let last',
        'export async function retry(times, fn, { wait = 0, factor = 2, sleep = timer } = {}) {\n  let last',
      ),
      edit(
        'src/retry.js',
        '      last = error\n',
        '      last = error\n      if (n < times - 1) await sleep(wait * factor ** n)\n',
      ),
      edit(
        'src/retry.js',
        '  throw last\n}\n',
        '  throw last\n}\n\nfunction timer(ms) {\n  return new Promise(done => setTimeout(done, ms))\n}\n',
      ),
      write(
        'demo.js',
        "import { retry } from './src/retry.js'\n\nlet tries = 0\nconst value = await retry(3, async () => {\n  if (++tries < 3) throw new Error('not yet')\n  return tries\n}, { wait: 5 })\nconsole.log(value)\n",
      ),
    ],
  }),
  wish({
    name: 'add-units',
    title: 'More units, and errors for unknown ones',
    asks: 'convert in src/convert.js gives NaN for units that it does not know. It shall throw a RangeError that names the unit instead. Add miles (mi, 1609.344 m) and feet (ft, 0.3048 m). cli.js shall print a conversion: node cli.js 1 mi km prints 1.609344.',
    files: { 'src/convert.js': CONVERT },
    shows: 'node cli.js 1 mi km',
    imports: "import { convert } from '../src/convert.js'",
    hidden: {
      'miles and feet': "assert.equal(convert(1, 'mi', 'm'), 1609.344)\n  assert.equal(convert(10, 'ft', 'm'), 3.048)",
      'unknown units, also those that objects have':
        "assert.throws(() => convert(1, 'ell', 'm'), error => error instanceof RangeError && error.message.includes('ell'))\n  assert.throws(() => convert(1, 'm', 'toString'), RangeError)",
      'the program': "assert.equal(program('cli.js', '1', 'mi', 'km').out.trim(), '1.609344')",
    },
    steps: () => [
      read('src/convert.js'),
      write(
        'src/convert.js',
        "const UNITS = { m: 1, km: 1000, cm: 0.01, mi: 1609.344, ft: 0.3048 }\n\n/** @throws RangeError for a unit that is not known */\nexport function convert(value, from, to) {\n  return (value * sizeOf(from)) / sizeOf(to)\n}\n\nfunction sizeOf(unit) {\n  if (!Object.hasOwn(UNITS, unit)) throw new RangeError('unknown unit: ' + unit)\n  return UNITS[unit]\n}\n",
      ),
      write(
        'cli.js',
        "import { convert } from './src/convert.js'\n\nconst [value, from, to] = process.argv.slice(2)\nconsole.log(convert(Number(value), from, to))\n",
      ),
    ],
  }),
  wish({
    name: 'add-environment',
    title: 'Configuration from the environment',
    asks: 'load in src/config.js reads a file. Environment variables must override the file: APP_PORT sets port as a number, APP_HOST sets host. load(path, env = process.env) takes them. A port that is not a whole number from 1 to 65535 is an Error that names APP_PORT. Write check.js that loads config.json and exits with 0 if all is well.',
    files: { 'src/config.js': CONFIG, 'config.json': '{"port": 8080}\n' },
    shows: 'node check.js',
    imports: "import { load } from '../src/config.js'",
    hidden: {
      'the environment comes first':
        "assert.deepEqual(load('config.json', { APP_PORT: '9000', APP_HOST: 'h' }), { port: 9000, host: 'h' })",
      'without it': "assert.deepEqual(load('config.json', {}), { port: 8080, host: 'localhost' })",
      'bad ports':
        "for (const APP_PORT of ['x', '0', '70000', '1.5']) assert.throws(() => load('config.json', { APP_PORT }), /APP_PORT/)",
    },
    steps: () => [
      read('src/config.js'),
      edit(
        'src/config.js',
        "export function load(path) {\n  return { ...DEFAULTS, ...JSON.parse(readFileSync(path, 'utf8')) }\n}",
        "export function load(path, env = process.env) {\n  const found = { ...DEFAULTS, ...JSON.parse(readFileSync(path, 'utf8')) }\n  if (env.APP_PORT !== undefined) found.port = portOf(env.APP_PORT)\n  if (env.APP_HOST !== undefined) found.host = env.APP_HOST\n  return found\n}\n\nfunction portOf(text) {\n  const port = Number(text)\n  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Error('APP_PORT is no port: ' + text)\n  return port\n}",
      ),
      write('check.js', "import { load } from './src/config.js'\n\nconsole.log(load('config.json'))\n"),
    ],
  }),
  wish({
    name: 'add-once',
    title: 'Remove event listeners',
    asks: 'Add to Events in src/events.js: off(name, fn), which removes a listener, and once(name, fn), which adds a listener for one event only. A listener that is removed by another listener during an event is still called for that event. Write demo.js that uses both and exits with 0.',
    files: { 'src/events.js': EVENTS },
    shows: 'node demo.js',
    imports: "import { Events } from '../src/events.js'",
    hidden: {
      off: "const events = new Events()\n  let n = 0\n  const fn = () => n++\n  events.on('a', fn)\n  events.off('a', fn)\n  events.off('b', fn)\n  events.emit('a')\n  assert.equal(n, 0)",
      once: "const events = new Events()\n  const seen = []\n  events.once('a', value => seen.push(value))\n  events.on('a', value => seen.push(value + 1))\n  events.emit('a', 1)\n  events.emit('a', 5)\n  assert.deepEqual(seen, [1, 2, 6])",
    },
    steps: () => [
      read('src/events.js'),
      edit(
        'src/events.js',
        '  emit(name, value) {',
        '  off(name, fn) {\n    this.#listeners.set(name, (this.#listeners.get(name) ?? []).filter(each => each !== fn))\n  }\n\n  once(name, fn) {\n    const first = value => {\n      this.off(name, first)\n      fn(value)\n    }\n    this.on(name, first)\n  }\n\n  emit(name, value) {',
      ),
      write(
        'demo.js',
        "import { Events } from './src/events.js'\n\nconst events = new Events()\nevents.once('ready', value => console.log(value))\nevents.emit('ready', 'once')\nevents.emit('ready', 'never')\n",
      ),
    ],
  }),
  wish({
    name: 'add-done',
    title: 'A command that ticks off an entry',
    asks: 'todo.js keeps a list. Add the command: node todo.js done <number>, which ticks off the entry with that number as list shows it. For a number that is not in the list, the command must print an error to standard error and exit with 1. Mention the command in the usage line. Leave no todo.json behind from trying it. Write what you added into README.md.',
    files: {
      'todo.js': TASKS,
      'README.md': '# todo\n\nA list of what is to be done: `node todo.js add <text>`, `node todo.js list`.\n',
    },
    shows: 'grep -q done README.md',
    hidden: {
      'it ticks off':
        "program('todo.js', 'add', 'tea')\n  program('todo.js', 'add', 'salt')\n  assert.equal(program('todo.js', 'done', '2').status, 0)\n  assert.equal(program('todo.js', 'list').out, '1 [ ] tea\\n2 [x] salt\\n')",
      'unknown numbers':
        "for (const n of ['0', '9', 'x']) {\n    const { status, err } = program('todo.js', 'done', n)\n    assert.equal(status, 1)\n    assert.notEqual(err, '')\n  }",
      'the usage line': "assert.match(program('todo.js').err, /done/)",
    },
    steps: () => [
      read('todo.js'),
      edit(
        'todo.js',
        "} else if (command === 'list') {",
        "} else if (command === 'done') {\n  const item = items[Number(words[0]) - 1]\n  if (!item) {\n    console.error('there is no entry ' + words[0])\n    process.exit(1)\n  }\n  item.done = true\n  writeFileSync(FILE, JSON.stringify(items))\n} else if (command === 'list') {",
      ),
      edit('todo.js', 'add <text> | list', 'add <text> | done <number> | list'),
      read('README.md'),
      edit('README.md', '`node todo.js list`.', '`node todo.js list`, `node todo.js done <number>`.'),
    ],
  }),
]
