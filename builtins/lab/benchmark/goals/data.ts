import {
  csv,
  fileMatches,
  grep,
  holdsJson,
  json,
  list,
  numbers,
  pad,
  read,
  reads,
  run,
  type WorkGoal,
  write,
} from './kit.ts'

const CITIES = ['Ulm', 'Bonn', 'Kiel', 'Jena']

interface Person {
  id: number
  name: string
  city: string
  born: string
}

function people(seed: number, amount: number): Person[] {
  const next = numbers(seed)
  const names = ['Ada', 'Bob', 'Cem', 'Dana', 'Eli', 'Finn', 'Gül', 'Hana']
  return Array.from({ length: amount }, (_, n) => ({
    id: n + 1,
    name: `${names[next(names.length)]} ${String.fromCharCode(65 + next(26))}.`,
    city: CITIES[next(CITIES.length)]!,
    born: `${1950 + next(50)}-${pad(1 + next(12))}-${pad(1 + next(28))}`,
  }))
}

const HEAD = ['id', 'name', 'city', 'born']
const table = (rows: readonly Person[]) =>
  csv([HEAD, ...rows.map(({ id, name, city, born }) => [id, name, city, born])])

/** The same as people type it in: blanks, letters of any case, dates of another form, and some rows twice. */
function untidy(rows: readonly Person[]): string {
  const lines = rows.flatMap(({ id, name, city, born }, n) => {
    const [year, month, day] = born.split('-')
    const line = [
      String(id),
      n % 3 === 0 ? `  ${name} ` : name,
      n % 4 === 1 ? city.toUpperCase() : n % 4 === 2 ? city.toLowerCase() : city,
      n % 2 === 0 ? born : `${day}.${month}.${year}`,
    ].join(',')
    return n % 10 === 9 ? [line, line] : [line]
  })
  return `${[HEAD.join(','), ...lines].join('\n')}\n`
}

const readCsv = (path: string) =>
  `readFileSync('${path}', 'utf8').trim().split('\\n').slice(1).map(line => line.split(','))`

const TIDY = `import { readFileSync, writeFileSync } from 'node:fs'

const rows = new Map()
for (const [id, name, city, born] of ${readCsv('people.csv')}) {
  const [, day, month, year] = /^(\\d\\d)\\.(\\d\\d)\\.(\\d{4})$/.exec(born) ?? []
  const place = city.trim()
  rows.set(id, [id, name.trim(), place[0].toUpperCase() + place.slice(1).toLowerCase(), year ? [year, month, day].join('-') : born])
}
writeFileSync('tidy.csv', ['${HEAD.join(',')}', ...[...rows.values()].map(row => row.join(','))].join('\\n') + '\\n')
`

const ORDERS = [
  [1, 3, 'tea', 2],
  [2, 1, 'salt', 1],
  [3, 3, 'tea', 1],
  [4, 9, 'tea', 4],
  [5, 2, 'oil', 3],
]
const PRICES = [
  ['tea', 3.5],
  ['salt', 0.8],
  ['oil', 6],
]

const READINGS = [12, 13, 12, 14, 95, 13, -40, 12, 15, 14]

const NESTED = {
  north: {
    lamps: [
      { id: 'n1', on: true },
      { id: 'n2', on: false },
    ],
  },
  south: { lamps: [{ id: 's1', on: false }] },
  west: { lamps: [] },
}

const INI = '[server]\nport = 8000\nhost = localhost\n; of the operator\n[limits]\nfiles = 20\nstrict = true\n'

const tidyPeople = () => people(21, 80)

export const DATA: readonly WorkGoal[] = [
  {
    name: 'tidy-people',
    title: 'Tidy a data set',
    asks: 'Clean up people.csv and write the result to tidy.csv with the same heading: names without blanks around them, cities written as in "Ulm", dates as in 1950-12-31, each id once, the rows in their order. Do not change people.csv.',
    files: () => ({ 'people.csv': untidy(tidyPeople()) }),
    acceptance: [{ file: 'tidy.csv' }],
    checks: {
      'all rows are tidy': async folder => reads('tidy.csv', table(tidyPeople()))(folder),
      'people.csv is unchanged': async folder => (await folder.file('people.csv')) === untidy(tidyPeople()),
    },
    solution: () => [read('people.csv'), write('tidy.js', TIDY), run('node tidy.js'), run('head -n 5 tidy.csv')],
  },
  {
    name: 'join-orders',
    title: 'Join two tables',
    asks: 'orders.csv and prices.csv share the column article. Write totals.csv with the columns customer,total: what each customer has to pay, to two decimals, sorted by customer number.',
    files: {
      'orders.csv': csv([['order', 'customer', 'article', 'count'], ...ORDERS]),
      'prices.csv': csv([['article', 'price'], ...PRICES]),
    },
    acceptance: [{ file: 'totals.csv' }],
    checks: { 'all totals are right': reads('totals.csv', 'customer,total\n1,0.80\n2,18.00\n3,10.50\n9,14.00') },
    solution: () => [
      read('orders.csv'),
      read('prices.csv'),
      write('totals.csv', 'customer,total\n1,0.80\n2,18.00\n3,10.50\n9,14.00\n'),
      read('totals.csv'),
    ],
  },
  {
    name: 'find-outliers',
    title: 'Find impossible values',
    asks: 'readings.txt has one temperature per line. Temperatures below -20 or above 50 are faults. Write the others to clean.txt, in their order, and the faults to faults.json, as a list of {"line": <number from 1>, "value": <number>}.',
    files: { 'readings.txt': `${READINGS.join('\n')}\n` },
    acceptance: [{ file: 'clean.txt' }, { file: 'faults.json' }],
    checks: {
      'the other readings are kept': reads('clean.txt', READINGS.filter(each => each >= -20 && each <= 50).join('\n')),
      'the faults are listed': holdsJson('faults.json', [
        { line: 5, value: 95 },
        { line: 7, value: -40 },
      ]),
    },
    solution: () => [
      read('readings.txt'),
      write('clean.txt', `${READINGS.filter(each => each >= -20 && each <= 50).join('\n')}\n`),
      write(
        'faults.json',
        json([
          { line: 5, value: 95 },
          { line: 7, value: -40 },
        ]),
      ),
    ],
  },
  {
    name: 'flatten-json',
    title: 'A table from nested JSON',
    asks: 'lamps.json has lamps by place. Write lamps.csv with the columns place,id,on, one row for each lamp, sorted by id; on is true or false.',
    files: { 'lamps.json': json(NESTED) },
    acceptance: [{ file: 'lamps.csv' }],
    checks: { 'all lamps are there': reads('lamps.csv', 'place,id,on\nnorth,n1,true\nnorth,n2,false\nsouth,s1,false') },
    solution: () => [
      read('lamps.json'),
      write('lamps.csv', 'place,id,on\nnorth,n1,true\nnorth,n2,false\nsouth,s1,false\n'),
    ],
  },
  {
    name: 'split-by-city',
    title: 'One file for each city',
    asks: 'Split people.csv by city into cities/<city>.csv, each with the heading and the rows of its city in their order. Then write cities/index.json: the number of people by city.',
    files: () => ({ 'people.csv': table(people(22, 60)) }),
    acceptance: [{ file: 'cities/index.json' }],
    checks: {
      'all rows are in the file of their city': async folder => {
        const all = people(22, 60)
        const held = await Promise.all(
          CITIES.map(city => reads(`cities/${city}.csv`, table(all.filter(each => each.city === city)))(folder)),
        )
        return held.every(Boolean)
      },
      'the index has the right numbers': async folder => {
        const counts = CITIES.map(city => [city, people(22, 60).filter(each => each.city === city).length])
        return holdsJson('cities/index.json', Object.fromEntries(counts))(folder)
      },
    },
    solution: () => [
      run('head -n 3 people.csv'),
      write(
        'split.js',
        `import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'\n\nconst cities = {}\nfor (const row of ${readCsv('people.csv')}) (cities[row[2]] ??= []).push(row.join(','))\nmkdirSync('cities', { recursive: true })\nfor (const [city, rows] of Object.entries(cities)) writeFileSync('cities/' + city + '.csv', ['${HEAD.join(',')}', ...rows].join('\\n') + '\\n')\nconst counts = Object.entries(cities).map(([city, rows]) => [city, rows.length])\nwriteFileSync('cities/index.json', JSON.stringify(Object.fromEntries(counts)) + '\\n')\n`,
      ),
      run('node split.js'),
      list('cities'),
    ],
  },
  {
    name: 'convert-ini',
    title: 'Convert a configuration file',
    asks: 'Convert settings.ini into settings.json: an object of its sections; numbers and booleans become JSON numbers and booleans. Drop the comments.',
    files: { 'settings.ini': INI },
    acceptance: [{ command: 'grep -q limits settings.json' }],
    checks: {
      'all values are present, with the right types': holdsJson('settings.json', {
        server: { port: 8000, host: 'localhost' },
        limits: { files: 20, strict: true },
      }),
    },
    solution: () => [
      read('settings.ini'),
      write('settings.json', json({ server: { port: 8000, host: 'localhost' }, limits: { files: 20, strict: true } })),
    ],
  },
  {
    name: 'rename-files',
    title: 'Rename many files by one rule',
    asks: 'The files in photos/ are named like "IMG 20240301 (2).txt". Rename each to the form "2024-03-01-2.txt", from its date and its number in brackets; files without brackets get the number 1. Do not change their contents.',
    files: Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => {
        const day = pad(1 + Math.floor(n / 3))
        return [`photos/IMG 202403${day}${n % 3 === 0 ? '' : ` (${(n % 3) + 1})`}.txt`, `picture ${n}\n`]
      }),
    ),
    acceptance: [{ file: 'photos/2024-03-04-3.txt' }],
    checks: {
      'all files have their new names and their contents': async folder => {
        const held = Array.from({ length: 12 }, (_, n) => {
          const path = `photos/2024-03-${pad(1 + Math.floor(n / 3))}-${(n % 3) + 1}.txt`
          return fileMatches(path, text => text === `picture ${n}\n`)(folder)
        })
        return (await Promise.all(held)).every(Boolean)
      },
      'no file has its old name': async folder => (await folder.file('photos/IMG 20240301.txt')) === undefined,
    },
    solution: () => [
      list('photos'),
      write(
        'rename.js',
        "import { readdirSync, renameSync } from 'node:fs'\n\nfor (const name of readdirSync('photos')) {\n  const [, year, month, day, , number = '1'] = /^IMG (\\d{4})(\\d\\d)(\\d\\d)( \\((\\d+)\\))?\\.txt$/.exec(name)\n  renameSync('photos/' + name, 'photos/' + [year, month, day, number].join('-') + '.txt')\n}\n",
      ),
      run('node rename.js'),
      grep('picture', 'photos'),
    ],
  },
]
