import { fileMatches, json, project, read, run, testFile, type WorkGoal, write } from './kit.ts'

interface Review {
  name: string
  title: string
  files: Readonly<Record<string, string>>
  /** What is wrong: the file, the line as it is now, and words by which its description is known. */
  finding: { file: string; line: number }
  words: RegExp
  problem: string
}

const FORM =
  'Write review.json: {"findings": [{"file": "…", "line": <number in the new file>, "problem": "…"}]} with the faults of the change, without matters of taste. Change no other file.'

/** A change that has one fault, to be found by reading. */
function review({ name, title, files, finding, words, problem }: Review): WorkGoal {
  return {
    name,
    title,
    files: project(files),
    preset: 'reviewer',
    asks: `Review the change in change.diff to ${finding.file}, which is already applied to the files here. ${FORM}`,
    acceptance: [{ file: 'review.json' }],
    checks: {
      'the review finds the fault and describes it': fileMatches('review.json', text => {
        const found = findingsOf(text).filter(
          ({ file, line }) => file === finding.file && Math.abs(line - finding.line) <= 1,
        )
        return found.some(({ problem }) => words.test(problem))
      }),
      'the review has no other findings': fileMatches('review.json', text => findingsOf(text).length === 1),
      'the files are unchanged': async folder =>
        (
          await Promise.all(Object.entries(files).map(async ([path, text]) => (await folder.file(path)) === text))
        ).every(Boolean),
    },
    solution: () => [
      ...Object.keys(files).map(read),
      write('review.json', json({ findings: [{ ...finding, problem }] })),
    ],
  }
}

function findingsOf(text: string): { file: string; line: number; problem: string }[] {
  try {
    const { findings } = JSON.parse(text) as { findings: { file: string; line: number; problem: string }[] }
    return findings.map(({ file, line, problem }) => ({
      file: String(file).replace(/^\.\//, ''),
      line: Number(line),
      problem: String(problem),
    }))
  } catch {
    return []
  }
}

const diff = (path: string, old: string, next: string) =>
  `--- a/${path}\n+++ b/${path}\n@@\n${old
    .split('\n')
    .map(line => `-${line}`)
    .join('\n')}\n${next
    .split('\n')
    .map(line => `+${line}`)
    .join('\n')}\n`

const CACHE = `const cache = new Map()

export function user(id, load) {
  if (cache.has(id)) return cache.get(id)
  const found = load(id)
  cache.set(id, found)
  return found
}

export function forget(id) {
  cache.clear()
}
`

const QUERY = `export function findOrders(db, customer, city) {
  const text = "SELECT * FROM orders WHERE customer = ? AND city = '" + city + "'"
  return db.all(text, [customer])
}

export function countOrders(db, customer) {
  return db.all('SELECT count(*) FROM orders WHERE customer = ?', [customer])
}
`

const LEAP = `export function isLeap(year) {
  return year % 4 === 0
}

export function daysIn(year, month) {
  if (month === 2) return isLeap(year) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}
`

const UPLOAD = `import { createWriteStream } from 'node:fs'
import { join } from 'node:path'

const FOLDER = '/srv/uploads'

/** Stores what a visitor sends under the name that the visitor gives. */
export function store(name, stream) {
  const path = join(FOLDER, name)
  return stream.pipe(createWriteStream(path))
}
`

const SORT_TEST = testFile("import { top } from '../src/top.js'", {
  'the highest come first': 'assert.deepEqual(top([3, 1, 2], 2), [3, 2])',
})

export const REVIEW: readonly WorkGoal[] = [
  review({
    name: 'review-cache',
    title: 'Review: cache invalidation',
    files: { 'src/cache.js': CACHE, 'change.diff': diff('src/cache.js', '  cache.delete(id)', '  cache.clear()') },
    finding: { file: 'src/cache.js', line: 11 },
    words: /clear|all|every|whole/i,
    problem: 'forget(id) clears the whole cache instead of deleting the entry of id.',
  }),
  review({
    name: 'review-query',
    title: 'Review: SQL query built from strings',
    files: {
      'src/orders.js': QUERY,
      'change.diff': diff(
        'src/orders.js',
        '  const text = "SELECT * FROM orders WHERE customer = ?"',
        `  const text = "SELECT * FROM orders WHERE customer = ? AND city = '" + city + "'"`,
      ),
    },
    finding: { file: 'src/orders.js', line: 2 },
    words: /inject|concat|escap|parameter|placeholder/i,
    problem: 'city is concatenated into the SQL: injection; pass it as a parameter.',
  }),
  review({
    name: 'review-leap',
    title: 'Review: leap years',
    files: {
      'src/days.js': LEAP,
      'change.diff': diff('src/days.js', '  return new Date(year, 1, 29).getMonth() === 1', '  return year % 4 === 0'),
    },
    finding: { file: 'src/days.js', line: 2 },
    words: /100|400|centur/i,
    problem: 'Years divisible by 100 but not by 400, such as 1900, are no leap years.',
  }),
  review({
    name: 'review-upload',
    title: 'Review: file path from user input',
    files: {
      'src/upload.js': UPLOAD,
      'change.diff': diff(
        'src/upload.js',
        '  const path = join(FOLDER, randomUUID())',
        '  const path = join(FOLDER, name)',
      ),
    },
    finding: { file: 'src/upload.js', line: 8 },
    words: /travers|\.\.|outside|escape/i,
    problem: 'A name such as ../../etc/x leaves the folder (path traversal).',
  }),
  {
    name: 'review-and-mend',
    title: 'Review, prove the fault with a test, and fix it',
    asks: 'The change in change.diff is already applied. It introduces a fault that the tests do not show. Add a test to test/top.test.js that fails because of it, then fix src/top.js. Keep the existing tests. Write into review.md in one sentence what was wrong.',
    files: project({
      'src/top.js': 'export function top(values, count) {\n  return values.sort((a, b) => b - a).slice(0, count)\n}\n',
      'test/top.test.js': SORT_TEST,
      'change.diff': diff(
        'src/top.js',
        '  return [...values].sort((a, b) => b - a).slice(0, count)',
        '  return values.sort((a, b) => b - a).slice(0, count)',
      ),
    }),
    acceptance: [{ command: 'node --test' }, { file: 'review.md' }],
    checks: {
      'the list of the caller is not changed': async folder =>
        (
          await folder.run('node --test {check}/hidden.test.js', {
            'hidden.test.js': testFile("import { top } from '../src/top.js'", {
              kept: 'const list = [1, 3, 2]\n  assert.deepEqual(top(list, 1), [3])\n  assert.deepEqual(list, [1, 3, 2])',
            }),
          })
        ).code === 0,
      'there is a new test, and the old one is kept': fileMatches(
        'test/top.test.js',
        text => text.includes('the highest come first') && (text.match(/\b(test|it)\(/g) ?? []).length >= 2,
      ),
      'the review says that the list was changed': fileMatches('review.md', text =>
        /sort|mutat|chang|order/i.test(text),
      ),
    },
    solution: () => [
      read('change.diff'),
      read('src/top.js'),
      read('test/top.test.js'),
      write(
        'test/top.test.js',
        `${SORT_TEST}\ntest('the list stays as it is', () => {\n  const list = [1, 3]\n  top(list, 1)\n  assert.deepEqual(list, [1, 3])\n})\n`,
      ),
      run('node --test'),
      { tool: 'file_edit', arguments: { path: 'src/top.js', old_text: 'values.sort', new_text: '[...values].sort' } },
      run('node --test'),
      write('review.md', 'top sorted the list of its caller in place, and so changed it.\n'),
    ],
  },
]
