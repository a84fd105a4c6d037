import { edit, type Files, fileEquals, list, passesTests, project, read, run, testFile, type WorkGoal } from './kit.ts'

interface Fault {
  name: string
  title: string
  asks?: string
  src: Files
  imports: string
  tests: Files
  hidden: Files
  edits: readonly [path: string, old: string, next: string][]
}

/** A program with a test that fails: the cause is to be found and mended, and the test stays as it is. */
function fault({ name, title, asks, src, imports, tests, hidden, edits }: Fault): WorkGoal {
  const test = testFile(imports, tests)
  return {
    name,
    title,
    asks:
      asks ?? `A test of this project fails. Find the cause and fix the program; do not change the tests. (${title})`,
    files: project({ ...src, 'test/all.test.js': test }),
    acceptance: [{ command: 'node --test' }],
    checks: {
      'the tests and hidden tests of the same behaviour pass': passesTests(imports, { ...tests, ...hidden }),
      'the tests are unchanged': fileEquals('test/all.test.js', test),
    },
    solution: () => [
      list(),
      run('node --test'),
      read('test/all.test.js'),
      ...edits.flatMap(([path, old, next]) => [read(path), edit(path, old, next)]),
      run('node --test'),
    ],
  }
}

export const FIX: readonly WorkGoal[] = [
  fault({
    name: 'fix-mean',
    title: 'the mean of an empty list',
    src: {
      'src/mean.js':
        'export function mean(values) {\n  const sum = values.reduce((a, b) => a + b, 0)\n  return sum / values.length\n}\n',
    },
    imports: "import { mean } from '../src/mean.js'",
    tests: {
      'the mean of nothing is 0': 'assert.equal(mean([]), 0)',
      'the mean of two': 'assert.equal(mean([2, 4]), 3)',
    },
    hidden: { 'one value': 'assert.equal(mean([7]), 7)', 'a sum of 0': 'assert.equal(mean([-1, 1]), 0)' },
    edits: [['src/mean.js', '  return sum / values.length', '  return values.length === 0 ? 0 : sum / values.length']],
  }),
  fault({
    name: 'fix-pages',
    title: 'the last page is missing',
    src: {
      'src/pages.js':
        'export function pageCount(items, size) {\n  return Math.floor(items / size)\n}\n\nexport function page(list, number, size) {\n  const first = number * size\n  return list.slice(first, first + size)\n}\n',
    },
    imports: "import { page, pageCount } from '../src/pages.js'",
    tests: {
      'a last page that is not full counts': 'assert.equal(pageCount(11, 5), 3)',
      'pages count from 1': "assert.deepEqual(page(['a', 'b', 'c'], 2, 2), ['c'])",
    },
    hidden: {
      'full pages': 'assert.equal(pageCount(10, 5), 2)',
      'no items': 'assert.equal(pageCount(0, 5), 0)',
      'the first page': 'assert.deepEqual(page([1, 2, 3], 1, 2), [1, 2])',
    },
    edits: [
      ['src/pages.js', 'Math.floor(items / size)', 'Math.ceil(items / size)'],
      ['src/pages.js', 'number * size', '(number - 1) * size'],
    ],
  }),
  fault({
    name: 'fix-slug',
    title: 'addresses of titles with accents',
    src: {
      'src/slug.js':
        "/** Makes the address of a page from its title. */\nexport function slug(title) {\n  return title\n    .toLowerCase()\n    .replace(/[^a-z0-9]+/g, '-')\n}\n",
    },
    imports: "import { slug } from '../src/slug.js'",
    tests: {
      'accents are dropped, not their letters': "assert.equal(slug('Café Zürich'), 'cafe-zurich')",
      'no dashes at the ends': "assert.equal(slug(' Hello, world! '), 'hello-world')",
    },
    hidden: { 'others too': "assert.equal(slug('¿Qué?'), 'que')", 'plain titles': "assert.equal(slug('A b'), 'a-b')" },
    edits: [
      [
        'src/slug.js',
        "    .toLowerCase()\n    .replace(/[^a-z0-9]+/g, '-')",
        "    .normalize('NFD')\n    .replace(/\\p{M}/gu, '')\n    .toLowerCase()\n    .replace(/[^a-z0-9]+/g, '-')\n    .replace(/^-|-$/g, '')",
      ],
    ],
  }),
  fault({
    name: 'fix-weekday',
    title: 'the weekday of a date depends on the machine',
    src: {
      'src/weekday.js':
        "const NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']\n\n/** @param date as in 2024-02-29 */\nexport function weekday(date) {\n  const [year, month, day] = date.split('-').map(Number)\n  return NAMES[new Date(Date.UTC(year, month, day)).getDay()]\n}\n",
    },
    imports: "import { weekday } from '../src/weekday.js'",
    tests: { 'a leap day': "assert.equal(weekday('2024-02-29'), 'Thursday')" },
    hidden: {
      'a new year': "assert.equal(weekday('2024-01-01'), 'Monday')",
      'far from UTC':
        "for (const TZ of ['America/Los_Angeles', 'Pacific/Auckland']) {\n    process.env.TZ = TZ\n    assert.equal(weekday('2024-02-29'), 'Thursday')\n  }",
    },
    edits: [['src/weekday.js', 'Date.UTC(year, month, day)).getDay()', 'Date.UTC(year, month - 1, day)).getUTCDay()']],
  }),
  fault({
    name: 'fix-await',
    title: 'saved values are gone',
    src: {
      'src/store.js':
        'export class Store {\n  #values = new Map()\n\n  async save(key, value) {\n    await new Promise(done => setTimeout(done, 5))\n    this.#values.set(key, value)\n  }\n\n  async load(key) {\n    return this.#values.get(key)\n  }\n}\n',
      'src/settings.js':
        'export async function setAll(store, settings) {\n  Object.entries(settings).forEach(async ([key, value]) => {\n    await store.save(key, value)\n  })\n}\n',
    },
    imports: "import { setAll } from '../src/settings.js'\nimport { Store } from '../src/store.js'",
    tests: {
      'all is stored when setAll is done':
        "const store = new Store()\n  await setAll(store, { a: 1, b: 2 })\n  assert.equal(await store.load('b'), 2)",
    },
    hidden: {
      'errors of the store are reported':
        "const broken = { save: async () => { throw new Error('full') } }\n  await assert.rejects(setAll(broken, { a: 1 }), /full/)",
    },
    edits: [
      [
        'src/settings.js',
        '  Object.entries(settings).forEach(async ([key, value]) => {\n    await store.save(key, value)\n  })',
        '  for (const [key, value] of Object.entries(settings)) await store.save(key, value)',
      ],
    ],
  }),
  fault({
    name: 'fix-shared',
    title: 'carts share their items',
    src: {
      'src/cart.js':
        'const EMPTY = { items: [], total: 0 }\n\nexport function newCart() {\n  return { ...EMPTY }\n}\n\nexport function add(cart, name, price) {\n  cart.items.push(name)\n  cart.total += price\n  return cart\n}\n',
    },
    imports: "import { add, newCart } from '../src/cart.js'",
    tests: {
      'a new cart is empty': "add(newCart(), 'tea', 3)\n  assert.deepEqual(newCart(), { items: [], total: 0 })",
    },
    hidden: { 'a cart keeps its own': "assert.deepEqual(add(newCart(), 'a', 1), { items: ['a'], total: 1 })" },
    edits: [['src/cart.js', '  return { ...EMPTY }', '  return { ...EMPTY, items: [] }']],
  }),
  fault({
    name: 'fix-csv',
    title: 'quoted fields of CSV files',
    src: {
      'src/csv.js':
        "/** Reads one line of a CSV file into its fields. */\nexport function fields(line) {\n  return line.split(',')\n}\n",
      'src/read.js':
        "import { fields } from './csv.js'\n\nexport function rows(text) {\n  return text.trim().split('\\n').map(fields)\n}\n",
    },
    imports: "import { rows } from '../src/read.js'",
    tests: { 'commas within quotes': `assert.deepEqual(rows('a,"b, c"'), [['a', 'b, c']])` },
    hidden: {
      'doubled quotes': `assert.deepEqual(rows('"say ""hi""",b'), [['say "hi"', 'b']])`,
      'empty fields': "assert.deepEqual(rows('a,,b'), [['a', '', 'b']])",
    },
    edits: [
      [
        'src/csv.js',
        "  return line.split(',')",
        '  const found = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)]\n  return found.map(([, quoted, plain]) => (quoted === undefined ? plain : quoted.replaceAll(\'""\', \'"\')))',
      ],
    ],
  }),
  fault({
    name: 'fix-receipt',
    title: 'receipts are a cent off',
    src: {
      'src/price.js':
        'export function total(items) {\n  return items.reduce((sum, { price, count }) => sum + price * count, 0)\n}\n',
      'src/tax.js': 'export function tax(amount, rate) {\n  return amount * rate\n}\n',
      'src/receipt.js':
        "import { total } from './price.js'\nimport { tax } from './tax.js'\n\nexport function receipt(items, rate) {\n  const net = total(items)\n  const added = tax(net, rate)\n  return { net, tax: added, gross: net + added }\n}\n",
    },
    imports: "import { receipt } from '../src/receipt.js'",
    tests: {
      'amounts are whole cents':
        'assert.deepEqual(receipt([{ price: 0.1, count: 3 }], 0.19), { net: 0.3, tax: 0.06, gross: 0.36 })',
    },
    hidden: {
      'more items':
        'assert.deepEqual(receipt([{ price: 19.99, count: 3 }], 0.07), { net: 59.97, tax: 4.2, gross: 64.17 })',
    },
    edits: [
      [
        'src/receipt.js',
        'export function receipt(items, rate) {\n  const net = total(items)\n  const added = tax(net, rate)\n  return { net, tax: added, gross: net + added }',
        'const cents = amount => Math.round(amount * 100) / 100\n\nexport function receipt(items, rate) {\n  const net = cents(total(items))\n  const added = cents(tax(net, rate))\n  return { net, tax: added, gross: cents(net + added) }',
      ],
    ],
  }),
]
