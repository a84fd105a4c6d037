import {
  csv,
  type Files,
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

const SERVICES = ['api', 'mail', 'search', 'shop']

interface Entry {
  day: string
  service: string
  status: number
  ms: number
}

/** A week of requests, from Monday 2024-03-04 on. */
function requests(seed: number, perDay: number): Entry[] {
  const next = numbers(seed)
  return Array.from({ length: 7 * perDay }, (_, n) => {
    const service = SERVICES[next(SERVICES.length)]!
    const status = next(20) === 0 ? 500 : next(15) === 0 ? 404 : 200
    return { day: `2024-03-${pad(4 + Math.floor(n / perDay))}`, service, status, ms: 5 + next(400) }
  })
}

function logsOf(entries: readonly Entry[]): Files {
  const days = [...new Set(entries.map(({ day }) => day))]
  return Object.fromEntries(
    days.map(day => [
      `logs/${day}.log`,
      entries
        .filter(each => each.day === day)
        .map(({ service, status, ms }, n) => `${day}T${pad(n % 24)}:00:00Z ${service} status=${status} ms=${ms}\n`)
        .join(''),
    ]),
  )
}

const week = () => requests(11, 60)
const count = (entries: readonly Entry[], holds: (entry: Entry) => boolean) => entries.filter(holds).length

/** The report of a week: a line for each service. */
function weekly(): string {
  const rows = SERVICES.map(service => {
    const own = week().filter(each => each.service === service)
    const errors = count(own, ({ status }) => status === 500)
    return `| ${service} | ${own.length} | ${errors} | ${Math.max(...own.map(({ ms }) => ms))} |`
  })
  return `# Week of 2024-03-04\n\n| Service | Requests | Errors | Slowest (ms) |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`
}

/** A program that reads all logs and prints what an expression makes of `entries`. */
const program = (expression: string) => `import { readdirSync, readFileSync } from 'node:fs'

const entries = readdirSync('logs').sort().flatMap(name =>
  readFileSync('logs/' + name, 'utf8').trim().split('\\n').map(line => {
    const [time, service, status, ms] = line.split(' ')
    return { day: time.slice(0, 10), service, status: Number(status.slice(7)), ms: Number(ms.slice(3)) }
  }),
)
console.log(${expression})
`

const perDay = () =>
  Object.fromEntries(
    [...new Set(week().map(({ day }) => day))].map(day => [
      day,
      count(week(), each => each.day === day && each.status === 500),
    ]),
  )

const ALERTS = [
  'disk full',
  'login failed',
  'disk full',
  'certificate expires',
  'login failed',
  'disk full',
  'out of memory',
]
const alerts = () =>
  ALERTS.map(
    (what, n) => `2024-05-0${n + 1} ${n % 2 === 0 ? 'ERROR' : 'WARN'} ${what}\n2024-05-0${n + 1} INFO all is well\n`,
  ).join('')

const TIMES = [
  ['ada', 'bridge', 90],
  ['bob', 'bridge', 30],
  ['ada', 'lamps', 45],
  ['bob', 'lamps', 75],
  ['ada', 'bridge', 30],
  ['cem', 'ropes', 20],
] as const

const COMMITS = [
  ['fix', 'Close the file after an error'],
  ['feat', 'Print the total'],
  ['chore', 'Update the linter'],
  ['fix', 'Count the last line too'],
  ['feat', 'Read several files'],
  ['docs', 'Explain the options'],
]

const STATES = ['up', 'up', 'down', 'down', 'up', 'down', 'up', 'up', 'down', 'down', 'down', 'up']

export const REPORT: readonly WorkGoal[] = [
  {
    name: 'report-week',
    title: 'A weekly report from logs',
    asks: 'Write report.md from the logs in logs/: first the line "# Week of 2024-03-04", then an empty line, then a Markdown table with the columns Service, Requests, Errors, Slowest (ms), one row for each service, sorted by name. Errors are requests with status 500.',
    files: () => logsOf(week()),
    acceptance: [{ file: 'report.md' }],
    checks: {
      'all figures are right': fileMatches('report.md', text => {
        const rows = (table: string) =>
          table
            .split('\n')
            .filter(line => /^\|\s*[a-z]/.test(line))
            .map(line => line.replace(/\s/g, ''))
        return rows(text).join() === rows(weekly()).join()
      }),
      'the report has its heading': fileMatches('report.md', text => text.startsWith('# Week of 2024-03-04\n')),
    },
    solution: () => [
      list('logs'),
      read('logs/2024-03-04.log'),
      write('count.js', program('entries.filter(({ status }) => status === 500).length')),
      run('node count.js'),
      write('report.md', weekly()),
      read('report.md'),
    ],
  },
  {
    name: 'report-errors',
    title: 'Errors by day',
    asks: 'Count the requests with status 500 in logs/ by day and write errors.json: {"2024-03-04": 0, …} with all seven days.',
    files: () => logsOf(week()),
    acceptance: [{ file: 'errors.json' }],
    checks: { 'all figures are right': async folder => holdsJson('errors.json', perDay())(folder) },
    solution: () => [grep('status=500', 'logs'), write('errors.json', json(perDay())), read('errors.json')],
  },
  {
    name: 'report-alerts',
    title: 'Summarize an alert log',
    asks: 'alerts.log has one entry per line. Write summary.csv with the columns level,message,count and one row for each distinct pair of level (ERROR, WARN) and message, sorted by count (highest first), then by message, then by level. Leave out INFO. The first row is the heading.',
    files: { 'alerts.log': alerts() },
    acceptance: [{ file: 'summary.csv' }],
    checks: {
      'all rows are right': reads('summary.csv', csv(alertRows())),
    },
    solution: () => [read('alerts.log'), write('summary.csv', csv(alertRows())), read('summary.csv')],
  },
  {
    name: 'report-hours',
    title: 'Hours by person',
    asks: 'times.csv lists minutes of work. Write hours.md: a line "- <person>: <hours> h" for each person, sorted by name, with hours to two decimals; then an empty line; then "Total: <hours> h".',
    files: { 'times.csv': csv([['person', 'project', 'minutes'], ...TIMES]) },
    acceptance: [{ file: 'hours.md' }],
    checks: {
      'all figures are right': reads('hours.md', '- ada: 2.75 h\n- bob: 1.75 h\n- cem: 0.33 h\n\nTotal: 4.83 h'),
    },
    solution: () => [
      read('times.csv'),
      write('hours.md', '- ada: 2.75 h\n- bob: 1.75 h\n- cem: 0.33 h\n\nTotal: 4.83 h\n'),
      read('hours.md'),
    ],
  },
  {
    name: 'report-changes',
    title: 'Release notes from commits',
    asks: 'commits.txt has the commits of a release, the oldest first. Add the section "## 2.1.0" to CHANGELOG.md above the earlier one: below "### Added" the subjects of feat commits, below "### Fixed" those of fix commits, each as "- <subject>" in their order. Leave out other kinds. Keep what is in the file.',
    files: {
      'commits.txt': COMMITS.map(([kind, subject]) => `${kind}: ${subject}\n`).join(''),
      'CHANGELOG.md': '# Changes\n\n## 2.0.0\n\n### Fixed\n\n- Start without a file\n',
    },
    acceptance: [{ command: "grep -q '## 2.1.0' CHANGELOG.md" }],
    checks: {
      'the new section is right and stands above the earlier one': fileMatches('CHANGELOG.md', text => {
        const lines = text.split('\n').filter(line => line.trim() !== '')
        return lines.join('\n') === `# Changes\n${notes()}\n## 2.0.0\n### Fixed\n- Start without a file`
      }),
    },
    solution: () => [
      read('commits.txt'),
      read('CHANGELOG.md'),
      {
        tool: 'file_edit',
        arguments: { path: 'CHANGELOG.md', old_text: '## 2.0.0\n', new_text: `${notes()}\n\n## 2.0.0\n` },
      },
    ],
  },
  {
    name: 'report-outages',
    title: 'Outages from a log of states',
    asks: 'status.log has the state of a service once an hour. An outage begins with the first "down" and ends with the next "up". Write outages.json: a list of {"from": "<time>", "until": "<time>", "hours": <number>}, where until is the time of that "up".',
    files: { 'status.log': STATES.map((state, hour) => `2024-06-01T${pad(hour)}:00 ${state}\n`).join('') },
    acceptance: [{ file: 'outages.json' }],
    checks: { 'all outages are there': holdsJson('outages.json', outages()) },
    solution: () => [read('status.log'), write('outages.json', json(outages())), read('outages.json')],
  },
]

function alertRows(): (string | number)[][] {
  const counts = new Map<string, number>()
  for (const [, level, message] of alerts().matchAll(/^\S+ (ERROR|WARN) (.+)$/gm)) {
    const key = `${level},${message}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const rows = [...counts].map(([key, count]): [string, string, number] => [
    key.split(',')[0]!,
    key.split(',')[1]!,
    count,
  ])
  rows.sort((a, b) => b[2] - a[2] || a[1].localeCompare(b[1]) || a[0].localeCompare(b[0]))
  return [['level', 'message', 'count'], ...rows]
}

function notes(): string {
  const subjects = (kind: string) => COMMITS.filter(([each]) => each === kind).map(([, subject]) => `- ${subject}`)
  return ['## 2.1.0', '### Added', ...subjects('feat'), '### Fixed', ...subjects('fix')].join('\n')
}

function outages() {
  const at = (hour: number) => `2024-06-01T${pad(hour)}:00`
  return STATES.flatMap((state, hour) => {
    if (state !== 'down' || STATES[hour - 1] === 'down') return []
    const until = STATES.indexOf('up', hour)
    return { from: at(hour), until: at(until), hours: until - hour }
  })
}
