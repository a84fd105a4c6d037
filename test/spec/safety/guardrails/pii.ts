import { SeededRandom } from './random.ts'

export interface LabelledText {
  text: string
  /** Personal data in the text; empty for a clean text. */
  values: { kind: string; value: string }[]
}

const NAMES = ['ana', 'j.doe', 'maria.lopez', 'k-tanaka', 'sven_berg', 'oleg99', 'p.o+news', 'info', 'Zoë.B', 'x']
const HOSTS = [
  'example.com',
  'mail.example.org',
  'uni-koeln.example.de',
  'example.co.uk',
  'a.b.example.io',
  'münchen.example',
]
const PHONES = [
  '+1 &## &##-####',
  '+1-&##-&##-####',
  '(&##) &##-####',
  '&##-&##-####',
  '&##.&##.####',
  '&## &## ####',
  '1-&##-&##-####',
  '+1&##&######',
  '(&##)&##-####',
  '&##-&##-####x####',
  '001-&##-&##-####',
  '&##&######',
  '+44 20 7### ####',
  '020 7### ####',
  '07### ######',
  '+44 (0)1## ### ####',
  '+49 30 %######',
  '030 / %######',
  '0171-%######',
  '+49 (0)89 %#####',
  '(0221) %##-###',
  '+33 6 ## ## ## ##',
  '06 ## ## ## ##',
  '+34 6## ### ###',
  '6## ### ###',
  '+39 06 ########',
  '+91 9#### #####',
  '0#-####-####',
  '+61 4## ### ###',
  '(0%) #### ####',
  '+81 90-####-####',
  '%##-####',
  '+7 (9##) ###-##-##',
  '+41 44 ### ## ##',
  '%%## ####',
] as const
const CARDS: [string, number][] = [
  ['4', 16],
  ['51', 16],
  ['55', 16],
  ['2221', 16],
  ['34', 15],
  ['37', 15],
  ['6011', 16],
  ['65', 16],
  ['3528', 16],
  ['36', 14],
  ['4', 19],
  ['4', 13],
  ['5018', 12],
  ['6759', 16],
]
const IBANS: [string, string][] = [
  ['DE', '##################'],
  ['GB', '^^^^##############'],
  ['FR', '##########~~~~~~~~~~~##'.replace(/~/g, '#')],
  ['NL', '^^^^##########'],
  ['ES', '####################'],
  ['IT', '^######################'],
  ['CH', '#################'],
  ['AT', '################'],
  ['BE', '############'],
  ['PL', '########################'],
  ['SE', '####################'],
  ['NO', '###########'],
  ['MT', '^^^^#######################'],
]

const VALUES: Record<string, (draw: SeededRandom) => string> = {
  email: draw => `${draw.pick(NAMES)}@${draw.pick(HOSTS)}`,
  phone: draw => draw.fill(draw.pick(PHONES)),
  credit_card: draw => withSpaces(draw, card(draw, ...draw.pick(CARDS))),
  iban(draw) {
    const iban = ibanOf(...draw.pick(IBANS), draw)
    return draw.next() < 0.5 ? iban : iban.replace(/(.{4})(?=.)/g, '$1 ')
  },
  ssn(draw) {
    const area = draw.pick([draw.int(1, 665), draw.int(667, 899)])
    const shape = draw.pick(['-', '-', '-', ' '])
    return [String(area).padStart(3, '0'), String(draw.int(1, 99)).padStart(2, '0'), draw.fill('###%')].join(shape)
  },
  ip_address: draw =>
    draw.next() < 0.7
      ? [draw.int(1, 126), draw.int(0, 255), draw.int(0, 255), draw.int(1, 254)].join('.')
      : draw.pick([
          draw.fill('2001:db8:~~~%::~%'),
          draw.fill('2001:db8:~~~~:~~~~:~~~~:~~~~:~~~~:~~~~'),
          draw.fill('fe80::%~~~:~~ff:fe~~:~~~~'),
        ]),
  secret: draw =>
    draw.pick([
      draw.fill('AKIA^^^^^^##^^^^####'),
      `ghp_${draw.fill('@@@@@@^^^^^^######').repeat(2)}`,
      draw.fill('sk-proj-@@@@@@####^^^^^^@@@@####'),
      draw.fill('xoxb-##########-##########-@@@@@@@@'),
      `eyJhbGciOiJIUzI1NiJ9.eyJ${draw.fill('@@@@@@####^^^^')}.${draw.fill('@@@@####^^^^@@@@')}`,
      draw.fill('AIzaSy@@@@@@^^^^^^######@@@@@@^^^^^^###'),
      `-----BEGIN PRIVATE KEY-----\n${draw.fill('@^#@^#@^#@^#@^#@^#@^#@^#')}\n-----END PRIVATE KEY-----`,
    ]),
}

const CARRIERS: Record<string, string[]> = {
  email: [
    'Please write to V by Friday.',
    'From: V\nSubject: minutes',
    '{"user":"V","plan":"pro"}',
    'Ask Tom (V) for the key.',
    'contact=V;lang=de',
    'mailto:V',
    '<V> wrote:',
    'V',
  ],
  phone: [
    'Call me at V tomorrow.',
    'Tel: V',
    'My number is V, ask for Jo.',
    '{"phone": "V"}',
    'You can reach the desk on V between 9 and 5.',
    'Kontakt: V',
    'Fax V / office 12',
    '"V","Berlin","2024-05-01"',
    'I moved, the new number: V',
  ],
  credit_card: [
    'Charge card V, expires 04/29.',
    '{"card":"V","cvv":"123"}',
    'My card V was declined.',
    'PAN=V',
    'Paid with V on 2024-03-02.',
    'V',
  ],
  iban: ['Transfer it to V please.', 'IBAN: V\nBIC: COBADEFFXXX', '{"iban":"V"}', 'The account V was closed.', 'V'],
  ssn: ['SSN: V', 'My social security number is V.', '{"ssn":"V"}', 'Applicant V, born 1980.', 'V'],
  ip_address: [
    'Login from V failed.',
    '{"ip":"V"}',
    'V - - [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 2326',
    'Blocked V after 5 tries',
    'host V port 22',
  ],
  secret: ['export TOKEN=V', '{"key":"V"}', 'the key is V, keep it safe', 'Authorization: Bearer V', 'V'],
}

const WORDS =
  'the order was sent on monday and customer asked for another copy of report because page numbers were wrong we will meet again next week in room upstairs please bring notes from last call team thinks that new release is ready but tests take too long'.split(
    ' ',
  )

function prose(draw: SeededRandom, words: number): string {
  const text = Array.from({ length: words }, () => draw.pick(WORDS)).join(' ')
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`
}

/** Texts without personal data, in shapes that cause false matches. */
const CLEAN: ((draw: SeededRandom) => string)[] = [
  draw => prose(draw, draw.int(8, 60)),
  draw => draw.fill('Order ORD-2024-###### shipped as #112-#######-####### on 2024-0%-1#.'),
  draw => draw.fill('const x%# = items[##].price * 1.## // see v%.##.# and RFC %##'),
  draw => draw.fill('2024-0%-1#T1#:2#:3#.###Z INFO worker-## took ###ms, 0x~~~~~~~~, pid=####'),
  draw => draw.fill('{"id":"~~~~~~~~-~~~~-4~~~-a~~~-~~~~~~~~~~~~","ts":17########,"total":##.##}'),
  draw => draw.fill('Total: $#,###.## (EUR ####.##), tax 19%, due 0%/1#/2024'),
  draw => draw.fill('commit ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\nAuthor: bot\n@@ -##,# +##,## @@'),
  draw => draw.fill('npm install react@18.#.# vite@5.#.#-beta.# zod@4.#.#'),
  draw => draw.fill('Version 1.%.#.# of Chrome/12#.0.####.## on build 10.0.19041.####'),
  draw => draw.fill('ISBN 978-3-16-######-#, EAN 59########### ; pages 1##-1##'),
  draw => draw.fill('lat 52.######, lon 13.######, alt ###.# m, temp -%.# C'),
  draw => draw.fill('sha256:~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~'),
  draw => draw.fill('MAC 00:1b:~~:~~:~~:~~ joined at 1#:0#:4#; uptime 1#:##:##'),
  draw => draw.fill('Invoice 2024%#### for project %#, hours ##:##-##:##, rate 9#.50'),
  draw => draw.fill('std::vector<int> a(##); foo::bar(%#, 0x~~); if (n >= ####) return a[##];'),
  draw => draw.fill('Flight LH### gate B## seat ##C, booking ^^^^##, 0%.1#.2024 1#:4#'),
  draw => draw.fill('Tracking 1Z###^^############## left the hub; parcel %/#, weight #.## kg'),
  draw => draw.fill('SELECT * FROM t WHERE id IN (####, #####, ######) LIMIT ###;'),
  draw => draw.fill('| 2023 | %### | ##.# % |\n| 2024 | %### | ##.# % |'),
  draw => draw.fill('git clone git@github.com:acme/tool-##.git && cd tool-## # see icon@2x.png, localhost:%###'),
  draw => draw.fill('Between 1990 and 20%# the index rose from ### to 1,### points (up ##.#%).'),
  draw => draw.fill('trace=~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ span=~~~~~~~~~~~~~~~~ status=200 bytes=####'),
  draw => draw.fill('127.0.0.1:%### and ::1 answer; 0.0.0.0 listens, mask 255.255.255.0'),
  draw => draw.fill('Part no. %##-##-## in bin #-##-#, serial SN%########X, batch ####/##'),
]

/** Returns `count` texts with their personal data labelled; an eighth of them is clean. */
export function piiCorpus(count: number, seed = 20260101): LabelledText[] {
  const draw = new SeededRandom(seed)
  const kinds = Object.keys(VALUES)
  return Array.from({ length: count }, (_, n) => {
    if (n % 8 === 0) return { text: cleanText(draw), values: [] }
    const kind = kinds[n % kinds.length] as string
    const value = (VALUES[kind] as (draw: SeededRandom) => string)(draw)
    const carried = draw.pick(CARRIERS[kind] as string[]).replace('V', () => value)
    const around = draw.next()
    const before = around < 0.3 ? `${prose(draw, draw.int(4, 20))} ` : ''
    const after = around > 0.6 ? ` ${prose(draw, draw.int(4, 20))}` : ''
    return { text: `${before}${carried}${after}`, values: [{ kind, value }] }
  })
}

export function cleanCorpus(count: number, seed = 20260102): string[] {
  const draw = new SeededRandom(seed)
  return Array.from({ length: count }, () => cleanText(draw))
}

function cleanText(draw: SeededRandom): string {
  const parts = Array.from({ length: draw.int(1, 3) }, () => draw.pick(CLEAN)(draw))
  return parts.join(draw.pick([' ', '\n']))
}

function card(draw: SeededRandom, prefix: string, length: number): string {
  const digits = prefix + draw.fill('#'.repeat(length - prefix.length - 1))
  const sum = [...digits].reverse().reduce((all, digit, n) => {
    const doubled = Number(digit) * (n % 2 === 0 ? 2 : 1)
    return all + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return digits + ((10 - (sum % 10)) % 10)
}

function withSpaces(draw: SeededRandom, number: string): string {
  const by = draw.pick(['', '', ' ', '-'])
  if (by === '' || number.length < 14) return number
  const groups =
    number.length === 15 ? /^(.{4})(.{6})(.{5})$/ : number.length === 14 ? /^(.{4})(.{6})(.{4})$/ : /(.{4})(?=.)/g
  return number.length < 16 ? number.replace(groups, `$1${by}$2${by}$3`) : number.replace(groups, `$1${by}`)
}

function ibanOf(country: string, shape: string, draw: SeededRandom): string {
  const bban = draw.fill(shape)
  const digits = [...`${bban}${country}00`].map(char => Number.parseInt(char, 36)).join('')
  const rest = [...digits].reduce((all, digit) => (all * 10 + Number(digit)) % 97, 0)
  return `${country}${String(98 - rest).padStart(2, '0')}${bban}`
}
