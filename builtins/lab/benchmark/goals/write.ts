import {
  edit,
  type Files,
  fileMatches,
  grep,
  list,
  pad,
  passes,
  project,
  read,
  reads,
  run,
  type WorkGoal,
  write,
} from './kit.ts'

const TOOL = `const args = process.argv.slice(2)
const options = {
  '--input': 'File to read (default: standard input)',
  '--limit': 'Number of lines to print (default: 10)',
  '--reverse': 'Print the last line first',
  '--quiet': 'Print nothing but errors',
}
if (args.includes('--help')) for (const [name, what] of Object.entries(options)) console.log(name + '  ' + what)
`

const MATHS: Files = {
  'src/maths.js':
    'export function clamp(value, low, high) {\n  return Math.min(high, Math.max(low, value))\n}\n\nexport function lerp(from, to, part) {\n  return from + (to - from) * part\n}\n\nfunction half(value) {\n  return value / 2\n}\n\nexport function middle(from, to) {\n  return from + half(to - from)\n}\n',
  'lint.js': `import { readFileSync } from 'node:fs'

const text = readFileSync('src/maths.js', 'utf8')
const bare = [...text.matchAll(/(\\*\\/\\n)?export function (\\w+)/g)].filter(([, comment]) => !comment).map(([, , name]) => name)
if (bare.length > 0) {
  console.error('no comment: ' + bare.join(', '))
  process.exit(1)
}
`,
}

const GUIDES = ['Install it', 'First steps', 'Options', 'Plugins', 'When it fails', 'Upgrade', 'Remove it', 'Security']
const guides = Object.fromEntries(
  GUIDES.map((title, n) => [
    `guide/${pad(n + 1)}.md`,
    `# ${title}\n\nText of ${title.toLowerCase()}.\n\n## More\n\nMore.\n`,
  ]),
)
const index = `# Guide\n\n${GUIDES.map((title, n) => `- [${title}](${pad(n + 1)}.md)\n`).join('')}`

const TALK = `Ada: Good morning. The bridge needs paint.
Bob: I will buy the paint by 2024-04-02.
Ada: Good. Cem, the lamps?
Cem: Three are broken. I thought of mending them, but I have no time.
Dana: Then I mend the lamps by 2024-04-09.
Cem: I will write to the harbour office by 2024-04-05, about the ropes.
Ada: We might buy a boat one day.
`

const GLOSSARY =
  '# Words\n\n- tide: the sea rising and falling\n- buoy: a mark that floats\n- Tide: the sea rising and falling\n- lock: a chamber between two levels\n- ebb: the falling tide\n'

export const WRITE: readonly WorkGoal[] = [
  {
    name: 'write-readme',
    title: 'A README for a program',
    asks: 'Write README.md for lines.js: a heading "# lines", one sentence on what it does, a section "## Options" with a list of all its options as "- `--name`: what it does", and a section "## Example" with a command in a code block.',
    files: project({ 'lines.js': TOOL }),
    acceptance: [{ file: 'README.md' }],
    checks: {
      'the README has its heading and sections': fileMatches(
        'README.md',
        text => text.startsWith('# lines\n') && /^## Options$/m.test(text) && /^## Example$[\s\S]*```/m.test(text),
      ),
      'the README lists all options, and no others': fileMatches('README.md', text => {
        const named = [...text.matchAll(/^- `(--\w+)[^`]*`: \S/gm)].map(([, name]) => name).sort()
        return named.join() === '--input,--limit,--quiet,--reverse'
      }),
    },
    solution: () => [
      read('lines.js'),
      run('node lines.js --help'),
      write(
        'README.md',
        '# lines\n\nPrints lines of a file.\n\n## Options\n\n- `--input`: file to read, by default standard input\n- `--limit`: number of lines, by default 10\n- `--reverse`: the last line first\n- `--quiet`: nothing but errors\n\n## Example\n\n```\nnode lines.js --input a.txt --limit 3\n```\n',
      ),
    ],
  },
  {
    name: 'write-comments',
    title: 'Comments of exported functions',
    asks: 'Write a JSDoc comment (/** … */) right above each exported function of src/maths.js that says what it returns. The code itself stays as it is. node lint.js must exit with 0.',
    files: project(MATHS),
    acceptance: [{ command: 'node lint.js' }],
    checks: {
      'the linter passes': passes('node {check}/lint.js', { 'lint.js': MATHS['lint.js']! }),
      'the code is unchanged': fileMatches('src/maths.js', text => {
        const code = (source: string) =>
          source
            .replace(/\/\*\*[\s\S]*?\*\//g, '')
            .replace(/\s+/g, ' ')
            .trim()
        return code(text) === code(MATHS['src/maths.js']!)
      }),
    },
    solution: () => [
      read('src/maths.js'),
      edit(
        'src/maths.js',
        'export function clamp',
        '/** Returns the value, or the limit that it exceeds. */\nexport function clamp',
      ),
      edit(
        'src/maths.js',
        'export function lerp',
        '/** Returns the value at this part of the way. */\nexport function lerp',
      ),
      edit(
        'src/maths.js',
        'export function middle',
        '/** Returns the value halfway between two. */\nexport function middle',
      ),
      run('node lint.js'),
    ],
  },
  {
    name: 'write-index',
    title: 'An index of a guide',
    preset: 'writer',
    asks: 'Write guide/index.md: the line "# Guide", an empty line, then one line "- [<title>](<file name>)" for each file of guide/, sorted by file name; the title is the first heading of the file.',
    files: guides,
    acceptance: [{ file: 'guide/index.md' }],
    checks: { 'the index lists all files by their titles': reads('guide/index.md', index) },
    solution: () => [list('guide'), grep('^# ', 'guide'), write('guide/index.md', index), read('guide/index.md')],
  },
  {
    name: 'write-actions',
    title: 'Action items of a meeting',
    preset: 'writer',
    asks: 'talk.txt is the record of a meeting. Write actions.md with one line "- <name>: <what> (by <date>)" for each thing that someone took on with a date, the earliest date first. Leave out wishes, and what no one took on.',
    files: { 'talk.txt': TALK },
    acceptance: [{ file: 'actions.md' }],
    checks: {
      'three actions, in order': fileMatches('actions.md', text => {
        const lines = text.split('\n').filter(line => line.startsWith('- '))
        const found = lines.map(line => /^- (\w+): .+ \(by (\S+)\)$/.exec(line)?.slice(1).join(' '))
        return found.join() === 'Bob 2024-04-02,Cem 2024-04-05,Dana 2024-04-09'
      }),
      'each line names its action': fileMatches('actions.md', text =>
        ['paint', 'harbour', 'lamps'].every(word => text.includes(word)),
      ),
    },
    solution: () => [
      read('talk.txt'),
      write(
        'actions.md',
        '- Bob: buy the paint (by 2024-04-02)\n- Cem: write to the harbour office about the ropes (by 2024-04-05)\n- Dana: mend the lamps (by 2024-04-09)\n',
      ),
    ],
  },
  {
    name: 'write-glossary',
    title: 'Sort a glossary',
    preset: 'writer',
    asks: 'Put the entries of words.md into alphabetical order, each word once, all words in lower case; keep the heading. Then insert in order: "- pier: a way into the water".',
    files: { 'words.md': GLOSSARY },
    acceptance: [{ command: 'grep -q pier words.md' }],
    checks: {
      'all entries are in order': reads(
        'words.md',
        '# Words\n\n- buoy: a mark that floats\n- ebb: the falling tide\n- lock: a chamber between two levels\n- pier: a way into the water\n- tide: the sea rising and falling',
      ),
    },
    solution: () => [
      read('words.md'),
      write(
        'words.md',
        '# Words\n\n- buoy: a mark that floats\n- ebb: the falling tide\n- lock: a chamber between two levels\n- pier: a way into the water\n- tide: the sea rising and falling\n',
      ),
    ],
  },
]
