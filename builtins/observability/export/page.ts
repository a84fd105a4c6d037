import { createHash } from 'node:crypto'
import { cost } from './charts.ts'
import { moment } from './format.ts'
import type { Report } from './gather.ts'
import { renderHappenings } from './happenings.ts'
import { html, type Markup } from './html.ts'
import { STYLE } from './style.ts'
import { agents, heading, manifest, totals } from './summary.ts'
import { mail, transcripts } from './transcripts.ts'
import { lanes, waterfall } from './waterfall.ts'

/**
 * Content security policy of the page. It allows the page's own stylesheet, by its hash, and embedded images; nothing
 * is loaded, run or sent.
 */
export const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

const NAMES: Readonly<Record<string, string>> = {
  summary: 'Summary',
  agents: 'Agents',
  timeline: 'Timeline',
  cost: 'Cost',
  work: 'Work',
  events: 'Events',
  transcripts: 'Transcripts',
  messages: 'Messages',
  manifest: 'Manifest',
}

/**
 * Yields the page in pieces, so that a long one is never held in memory as a whole. It has no script: the browser
 * itself folds sections.
 */
export function* pageOf(report: Report): Generator<string> {
  const { run, made_at } = report
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${run.run_id} · svc</title>
<style>${STYLE}</style></head><body>
`
  yield heading(report).text
  const [folded, done] = [lanes(report), agents(report)]
  const talk = report.talks.size > 0 || report.task !== undefined
  const there: Record<string, boolean> = {
    agents: done !== false,
    timeline: folded !== false,
    transcripts: talk,
    messages: report.mail.length > 0,
  }
  const links = Object.entries(NAMES).filter(([id]) => there[id] ?? true)
  yield html`<nav aria-label="Parts"><ul>${links.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav><main>`
    .text
  for (const part of [totals(report), done, folded, cost(report)]) yield textOf(part)
  for (const part of waterfall(report)) yield textOf(part)
  for (const part of renderHappenings(report)) yield textOf(part)
  for (const part of transcripts(report)) yield textOf(part)
  for (const part of [mail(report), manifest(report)]) yield textOf(part)
  yield html`</main><footer>Made ${moment(made_at)} by svc ${run.svc_version}. Values of secrets are hidden; long texts are cut.</footer></body></html>
`.text
}

function textOf(part: Markup | false): string {
  return part === false ? '' : `${part.text}\n`
}
