import { z } from '#kernel'
import { sanitizeLine } from '#lib/sanitize'
import { isoTime } from '#platform/store/contract'

/** Maximum length of a narrative before it is sealed as a chapter, in characters. */
const LONGEST_NARRATIVE = 800
const LONGEST_LINE = 240
const LONGEST_OBJECTIVE = 110
/** Number of characters of a chapter's first and last line that its summary quotes. */
const GLANCE = 48

const count = z.int().min(0)
/** Milliseconds, up to the maximum of `Date`. */
export const time = z.int().min(0).max(8.64e15)

/** A story and the event up to which it is narrated. */
export const Story = z.object({
  /** Sequence number of the last narrated event. */
  seq: count,
  narrative: z.string(),
  /** Number of lines in the narrative; times and contents of the first and last. */
  entries: count,
  since: time.nullable(),
  until: time.nullable(),
  first_line: z.string(),
  last_line: z.string(),
})
export type Story = z.infer<typeof Story>

export const SealedChapter = z.object({
  summary: z.string(),
  entry_count: count,
  started_at: time,
  ended_at: time,
})
export type SealedChapter = z.infer<typeof SealedChapter>

/** An event that gets a narrative line. */
export interface Happening {
  seq: number
  at: number
  line: string
}

export const EMPTY_STORY: Story = {
  seq: 0,
  narrative: '',
  entries: 0,
  since: null,
  until: null,
  first_line: '',
  last_line: '',
}

/** Narrates events as dated lines; lines that no longer fit are sealed into chapters. */
export function narrateHappenings(
  story: Story,
  happenings: readonly Happening[],
): { story: Story; sealed: SealedChapter[] } {
  const sealed: SealedChapter[] = []
  let next = story
  for (const { seq, at, line } of happenings) {
    const text = oneLine(line, LONGEST_LINE)
    const entry = `${isoTime(at).slice(0, 10)}: ${text}`
    if (next.entries > 0 && next.narrative.length + 1 + entry.length > LONGEST_NARRATIVE) {
      sealed.push(chapterOf(next))
      next = { ...EMPTY_STORY, seq: next.seq }
    }
    next = {
      seq,
      narrative: next.narrative ? `${next.narrative}\n${entry}` : entry,
      entries: next.entries + 1,
      since: next.since ?? at,
      until: at,
      first_line: next.first_line || oneLine(text, GLANCE),
      last_line: oneLine(text, GLANCE),
    }
  }
  return { story: next, sealed }
}

function chapterOf({ entries, since, until, first_line, last_line }: Story): SealedChapter {
  const [from, to] = [since ?? 0, until ?? 0].map(at => isoTime(at).slice(0, 10))
  const span = from === to ? from : `${from} to ${to}`
  const what = entries === 1 ? first_line : `${first_line} → ${last_line}`
  return {
    summary: `${span}, ${entries} ${entries === 1 ? 'entry' : 'entries'}: ${what}`,
    entry_count: entries,
    started_at: since ?? 0,
    ended_at: until ?? 0,
  }
}

interface EndedGoal {
  objective: string
  result: string | null
  unconfirmed: number
}

/** Returns the narrative line of an ended goal, without its date. */
export function endingOf({ objective, result, unconfirmed }: EndedGoal, completed: boolean): string {
  const aim = oneLine(objective, LONGEST_OBJECTIVE)
  const how = completed ? `Completed${unconfirmed ? ', not confirmed' : ''}` : 'Abandoned'
  return `${how}: ${aim}${result ? ` - ${result.split('\n')[0]}` : ''}`
}

/** Cleans a string and puts it on one line, cut to a maximum length. */
export function oneLine(text: string, longest: number): string {
  const line = sanitizeLine(text)
  if (line.length <= longest) return line
  // Cuts between words if the last one is short, and never within a surrogate pair.
  return `${line.slice(0, longest).replace(/\s+\S{0,30}$|[\ud800-\udbff]?.$/, '')}…`
}
