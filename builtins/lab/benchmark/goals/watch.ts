import { fileMatches, list, project, read, reads, run, type WorkGoal, write } from './kit.ts'

const LOG = ['start', 'ready', 'request 1', 'request 2'].map(line => `INFO ${line}\n`).join('')

const SLOW = `import { appendFileSync } from 'node:fs'

for (let n = 1; n <= 4; n++) {
  await new Promise(done => setTimeout(done, 400))
  appendFileSync('progress.log', 'part ' + n + ' of 4: ' + n * 11 + '\\n')
}
console.log('sum: 110')
`

const APPLY = `import { readFileSync, writeFileSync } from 'node:fs'

const { version, colour } = JSON.parse(readFileSync('config.json', 'utf8'))
writeFileSync('applied.txt', colour + ' ' + version + '\\n')
`

export const WATCH: readonly WorkGoal[] = [
  {
    name: 'watch-inbox',
    title: 'Wait for files, then add them up',
    asks: 'Files with one number each arrive in inbox/ while you work. The last file is called end.txt and has no number. Check from time to time until it is there, and then write the sum of all numbers into sum.txt.',
    files: { 'inbox/one.txt': '7\n' },
    arrivals: [
      { after: 1, files: { 'inbox/two.txt': '20\n' } },
      { after: 3, files: { 'inbox/three.txt': '300\n', 'inbox/end.txt': 'end\n' } },
    ],
    acceptance: [{ file: 'inbox/end.txt' }, { file: 'sum.txt' }],
    checks: { 'the sum is right': reads('sum.txt', '327') },
    solution: () => [
      list('inbox'),
      run('sleep 0.1'),
      list('inbox'),
      run('sleep 0.2'),
      list('inbox'),
      ...['one', 'two', 'three'].map(name => read(`inbox/${name}.txt`)),
      write('sum.txt', '327\n'),
    ],
  },
  {
    name: 'watch-process',
    title: 'A process in the background',
    asks: 'node slow.js takes a while. Run it in the background, wait until it ends, and write its output into result.txt. Then write the number of lines of progress.log into lines.txt.',
    files: project({ 'slow.js': SLOW }),
    acceptance: [{ file: 'result.txt' }, { file: 'lines.txt' }],
    checks: {
      'result.txt has the output of slow.js': fileMatches('result.txt', text => text.includes('sum: 110')),
      'the number of lines is right': reads('lines.txt', '4'),
    },
    solution: () => [
      read('slow.js'),
      { tool: 'shell_exec', arguments: { command: 'node slow.js', background: true } },
      run('sleep 3'),
      { tool: 'process_output', arguments: {} },
      run('wc -l progress.log'),
      write('result.txt', 'sum: 110\n'),
      write('lines.txt', '4\n'),
    ],
  },
  {
    name: 'watch-log',
    title: 'React to a line of a log',
    asks: 'app.log grows while you work. Wait until a line with ERROR appears; then write that line into alert.txt, and below it the number of INFO lines before it.',
    files: { 'app.log': LOG },
    arrivals: [
      { after: 1, files: { 'app.log': `${LOG}INFO request 3\n` } },
      { after: 3, files: { 'app.log': `${LOG}INFO request 3\nERROR disk full\nINFO request 4\n` } },
    ],
    acceptance: [{ file: 'alert.txt' }],
    checks: { 'line and number are right': reads('alert.txt', 'ERROR disk full\n5') },
    solution: () => [
      read('app.log'),
      run('sleep 0.1'),
      read('app.log'),
      run('sleep 0.2'),
      read('app.log'),
      write('alert.txt', 'ERROR disk full\n5\n'),
    ],
  },
  {
    name: 'watch-config',
    title: 'Apply a change when it arrives',
    asks: 'config.json has version 1. Its version 2 arrives while you work. As soon as it is there, run node apply.js once, and write the new colour into colour.txt.',
    files: project({ 'config.json': '{"version": 1, "colour": "red"}\n', 'apply.js': APPLY }),
    arrivals: [{ after: 2, files: { 'config.json': '{"version": 2, "colour": "green"}\n' } }],
    acceptance: [{ command: 'grep -q 2 applied.txt' }, { file: 'colour.txt' }],
    checks: {
      'version 2 is applied': reads('applied.txt', 'green 2'),
      'colour.txt has the new colour': reads('colour.txt', 'green'),
    },
    solution: () => [
      read('config.json'),
      run('sleep 0.1'),
      read('config.json'),
      run('node apply.js'),
      write('colour.txt', 'green\n'),
    ],
  },
]
