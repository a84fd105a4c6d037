import {
  edit,
  type Files,
  grep,
  list,
  passes,
  passesTests,
  project,
  read,
  run,
  testFile,
  type WorkGoal,
  write,
} from './kit.ts'

/** A script of a project that fails while a text is in its sources. */
const without = (pattern: string) =>
  `import { readdirSync, readFileSync } from 'node:fs'

const found = readdirSync('src', { recursive: true })
  .filter(name => String(name).endsWith('.js'))
  .filter(name => /${pattern}/.test(readFileSync('src/' + name, 'utf8')))
if (found.length > 0) {
  console.error('still there: ' + found.join(', '))
  process.exit(1)
}
`

const PLACES = ['accounts', 'billing', 'invites', 'mailer', 'reports', 'search', 'sessions', 'teams']

const users: Files = {
  'src/users.js':
    "const USERS = new Map([[1, { id: 1, name: 'Ada' }], [2, { id: 2, name: 'Bob' }]])\n\nexport function getUser(id) {\n  return USERS.get(id)\n}\n",
  ...Object.fromEntries(
    PLACES.map(name => [
      `src/${name}.js`,
      `import { getUser } from './users.js'\n\n/** The name of a user, for ${name}. */\nexport function ${name}Name(id) {\n  const user = getUser(id)\n  return user ? user.name + ' (${name})' : undefined\n}\n`,
    ]),
  ),
}

const duplicate = (unit: string, size: number) =>
  `export function ${unit}Text(value) {\n  const rounded = Math.round(value * 100) / 100\n  const text = String(rounded).replace('.', ',')\n  return text + ' ${unit}'\n}\n\nexport const ${unit}Size = ${size}\n`

const GIANT = `export function summary(orders) {
  let total = 0
  const cities = new Set()
  for (const order of orders) {
    total += order.amount
    cities.add(order.city)
  }
  let text = 'Orders: ' + orders.length + '\\n'
  text += 'Total: ' + total.toFixed(2) + '\\n'
  text += 'Cities: ' + [...cities].sort().join(', ') + '\\n'
  return text
}
`

const CALLBACKS = `export function read(key, done) {
  setTimeout(() => (key === 'bad' ? done(new Error('no such key: ' + key)) : done(null, key.toUpperCase())), 1)
}

export function readBoth(one, two, done) {
  read(one, (error, first) => {
    if (error) return done(error)
    read(two, (error, second) => {
      if (error) return done(error)
      done(null, [first, second])
    })
  })
}
`

export const REFACTOR: readonly WorkGoal[] = [
  {
    name: 'rename-function',
    title: 'Rename a function across files',
    asks: 'Rename the function getUser to findUser everywhere in src/. Nothing else changes; npm run lint must pass.',
    files: project({
      ...users,
      'lint.js': without('getUser'),
      'package.json': '{"type": "module", "scripts": {"lint": "node lint.js"}}\n',
    }),
    acceptance: [{ command: 'node lint.js' }],
    checks: {
      'all modules work as before': passesTests(
        PLACES.map(name => `import { ${name}Name } from '../src/${name}.js'`).join('\n') +
          "\nimport { findUser } from '../src/users.js'",
        {
          names: PLACES.map(name => `assert.equal(${name}Name(1), 'Ada (${name})')`).join('\n  '),
          missing: 'assert.equal(findUser(9), undefined)',
        },
      ),
    },
    solution: () => [
      grep('getUser', 'src'),
      ...['users', ...PLACES].flatMap(name => [
        read(`src/${name}.js`),
        {
          tool: 'file_edit',
          arguments: { path: `src/${name}.js`, old_text: 'getUser', new_text: 'findUser', replace_all: true },
        },
      ]),
      run('node lint.js'),
    ],
  },
  {
    name: 'move-module',
    title: 'Move a module and fix its imports',
    asks: 'Move src/users.js to src/people/users.js and fix all imports. node check.js must exit with 0.',
    files: project({
      ...users,
      'check.js': `import { existsSync } from 'node:fs'\n\nif (existsSync('src/users.js')) throw new Error('src/users.js is still there')\nfor (const name of ${JSON.stringify(PLACES)}) await import('./src/' + name + '.js')\nawait import('./src/people/users.js')\n`,
    }),
    acceptance: [{ command: 'node check.js' }],
    checks: {
      'the module is moved and all modules work': passesTests(
        `import { existsSync } from 'node:fs'\nimport { getUser } from '../src/people/users.js'\nimport { teamsName } from '../src/teams.js'`,
        {
          moved:
            "assert.equal(existsSync('src/users.js'), false)\n  assert.equal(getUser(2).name, 'Bob')\n  assert.equal(teamsName(2), 'Bob (teams)')",
        },
      ),
    },
    solution: () => [
      list('src'),
      read('src/users.js'),
      run('mkdir src/people'),
      run('mv src/users.js src/people/users.js'),
      ...PLACES.flatMap(name => [
        read(`src/${name}.js`),
        edit(`src/${name}.js`, "'./users.js'", "'./people/users.js'"),
      ]),
      run('node check.js'),
    ],
  },
  {
    name: 'merge-duplicates',
    title: 'Merge three duplicate functions into one',
    asks: 'src/kilo.js, src/litre.js and src/metre.js repeat the same formatting. Put it into src/format.js as format(value, unit) and use it in all three. Their exports must stay and behave as before. node lint.js must exit with 0.',
    files: project({
      'src/kilo.js': duplicate('kilo', 3),
      'src/litre.js': duplicate('litre', 2),
      'src/metre.js': duplicate('metre', 1),
      'lint.js': `import { existsSync, readFileSync } from 'node:fs'\n\nif (!existsSync('src/format.js')) throw new Error('src/format.js is missing')\nfor (const unit of ['kilo', 'litre', 'metre']) {\n  if (readFileSync('src/' + unit + '.js', 'utf8').includes('Math.round')) throw new Error(unit + ' still formats by itself')\n}\n`,
    }),
    acceptance: [{ command: 'node lint.js' }],
    checks: {
      'the modules behave as before': passesTests(
        "import { format } from '../src/format.js'\nimport { kiloSize, kiloText } from '../src/kilo.js'\nimport { litreText } from '../src/litre.js'\nimport { metreText } from '../src/metre.js'",
        {
          all: "assert.equal(kiloText(1.005), '1 kilo')\n  assert.equal(litreText(2.5), '2,5 litre')\n  assert.equal(metreText(0), '0 metre')\n  assert.equal(kiloSize, 3)\n  assert.equal(format(1.234, 'x'), '1,23 x')",
        },
      ),
      'the linter passes': passes('node lint.js'),
    },
    solution: () => [
      ...['kilo', 'litre', 'metre'].map(unit => read(`src/${unit}.js`)),
      write(
        'src/format.js',
        "export function format(value, unit) {\n  const rounded = Math.round(value * 100) / 100\n  return String(rounded).replace('.', ',') + ' ' + unit\n}\n",
      ),
      ...[
        ['kilo', 3],
        ['litre', 2],
        ['metre', 1],
      ].map(([unit, size]) =>
        write(
          `src/${unit}.js`,
          `import { format } from './format.js'\n\nexport function ${unit}Text(value) {\n  return format(value, '${unit}')\n}\n\nexport const ${unit}Size = ${size}\n`,
        ),
      ),
      run('node lint.js'),
    ],
  },
  {
    name: 'split-function',
    title: 'Split a function that does two things',
    asks: 'summary in src/summary.js computes and formats at once. Split it: totals(orders) returns {count, total, cities} with cities sorted, format(totals) makes the text, and summary stays and uses both. Export all three. The tests must pass.',
    files: project({
      'src/summary.js': GIANT,
      'test/summary.test.js': testFile("import * as all from '../src/summary.js'", {
        'there are three functions': "assert.deepEqual(Object.keys(all).sort(), ['format', 'summary', 'totals'])",
      }),
    }),
    acceptance: [{ command: 'node --test' }],
    checks: {
      'all three functions work': passesTests("import { format, summary, totals } from '../src/summary.js'", {
        parts:
          "const orders = [{ amount: 2.5, city: 'Ulm' }, { amount: 1, city: 'Bonn' }, { amount: 1, city: 'Ulm' }]\n  const found = totals(orders)\n  assert.deepEqual(found, { count: 3, total: 4.5, cities: ['Bonn', 'Ulm'] })\n  assert.equal(format(found), 'Orders: 3\\nTotal: 4.50\\nCities: Bonn, Ulm\\n')\n  assert.equal(summary(orders), format(found))",
      }),
    },
    solution: () => [
      read('src/summary.js'),
      write(
        'src/summary.js',
        "export function totals(orders) {\n  return {\n    count: orders.length,\n    total: orders.reduce((sum, { amount }) => sum + amount, 0),\n    cities: [...new Set(orders.map(({ city }) => city))].sort(),\n  }\n}\n\nexport function format({ count, total, cities }) {\n  return `Orders: ${count}\\nTotal: ${total.toFixed(2)}\\nCities: ${cities.join(', ')}\\n`\n}\n\nexport function summary(orders) {\n  return format(totals(orders))\n}\n",
      ),
      run('node --test'),
    ],
  },
  {
    name: 'use-promises',
    title: 'Promises instead of callbacks',
    asks: 'Turn read and readBoth in src/read.js into async functions without callbacks: read(key) and readBoth(one, two), which reads both at the same time. Errors reject. node try.js must exit with 0.',
    files: project({
      'src/read.js': CALLBACKS,
      'try.js':
        "import { readBoth } from './src/read.js'\n\nconst both = await readBoth('a', 'b')\nif (both?.join() !== 'A,B') process.exit(1)\n",
    }),
    acceptance: [{ command: 'node try.js' }],
    checks: {
      'values and errors are right, without callbacks': passesTests("import { read, readBoth } from '../src/read.js'", {
        values: "assert.equal(await read('x'), 'X')\n  assert.deepEqual(await readBoth('a', 'b'), ['A', 'B'])",
        errors: "await assert.rejects(readBoth('a', 'bad'), /no such key: bad/)\n  assert.equal(read.length, 1)",
      }),
    },
    solution: () => [
      read('src/read.js'),
      write(
        'src/read.js',
        "export async function read(key) {\n  await new Promise(done => setTimeout(done, 1))\n  if (key === 'bad') throw new Error('no such key: ' + key)\n  return key.toUpperCase()\n}\n\nexport function readBoth(one, two) {\n  return Promise.all([read(one), read(two)])\n}\n",
      ),
      run('node try.js'),
    ],
  },
  {
    name: 'remove-dead-code',
    title: 'Remove unused modules',
    asks: 'Delete the modules in src/ that src/main.js does not use, directly or through others. Keep all that it needs. Write the names of the deleted files, one per line and sorted, into removed.txt.',
    files: project({
      'src/main.js':
        "import { one } from './one.js'\nimport { two } from './lib/two.js'\n\nconsole.log(one() + two())\n",
      'src/one.js': "import { base } from './base.js'\n\nexport const one = () => base + 1\n",
      'src/base.js': 'export const base = 1\n',
      'src/lib/two.js': "import { three } from '../three.js'\n\nexport const two = () => three\n",
      'src/three.js': 'export const three = 3\n',
      'src/old.js':
        "import { base } from './base.js'\nimport { older } from './older.js'\n\nexport const old = base + older\n",
      'src/older.js': 'export const older = 0\n',
      'src/lib/extra.js': "export const extra = 'one.js'\n",
    }),
    acceptance: [{ command: 'node src/main.js' }, { file: 'removed.txt' }],
    checks: {
      'the three unused modules are gone, and main.js works': async folder =>
        (await Promise.all(['src/old.js', 'src/older.js', 'src/lib/extra.js'].map(path => folder.file(path)))).every(
          text => text === undefined,
        ) && (await folder.run('node src/main.js', {})).code === 0,
      'removed.txt names the deleted modules': async folder =>
        ((await folder.file('removed.txt')) ?? '')
          .trim()
          .split(/\s+/)
          .map(line => line.replace(/^(\.\/)?(src\/)?/, ''))
          .join() === 'lib/extra.js,old.js,older.js',
    },
    solution: () => [
      list('.'),
      grep('import', 'src'),
      ...['src/old.js', 'src/older.js', 'src/lib/extra.js'].map(path => run(`rm ${path}`)),
      run('node src/main.js'),
      write('removed.txt', 'src/lib/extra.js\nsrc/old.js\nsrc/older.js\n'),
    ],
  },
]
