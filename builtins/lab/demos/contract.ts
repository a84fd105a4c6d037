import { point, token, z } from '#kernel'
import type { Trial, TrialOptions } from '#lab/trials/contract'

/** A part of a report. Strings are plain text: the Markdown and HTML output escapes what agents wrote. */
export type ReportBlock =
  | { kind: 'heading'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'list'; items: readonly string[] }
  | { kind: 'table'; head: readonly string[]; rows: readonly (readonly string[])[] }
  /** Quotation of what an agent said or wrote. */
  | { kind: 'quote'; text: string; by: string }
  /**
   * Values over time, oldest first, one line each, on a common scale: from the lowest to the highest unless `range` is
   * set.
   */
  | {
      kind: 'series'
      title: string
      unit: string
      range?: readonly [number, number]
      lines: readonly { name: string; values: readonly number[] }[]
    }

/** Report for people at the end of a demo. */
export interface DemoReport {
  title: string
  /** First paragraph: what the demo was and which model it used, or clearly that it used none. */
  lead: string
  blocks: readonly ReportBlock[]
}

/** Parameters and helpers of a demo. */
export interface DemoContext {
  seed: number
  /** Name of the model, as given. */
  model: string
  /** `provider:model`, with the notice that must accompany the name. */
  named: string
  /** Number of cycles, where the demo counts in cycles; by default its own number. */
  cycles: number | undefined
  signal: AbortSignal
  /** Opens the project in which the demo runs, with the seed; `config` and `files` are the demo's own. */
  open(options: Pick<TrialOptions, 'config' | 'files' | 'roles'>): Promise<DemoTrial>
  /** Prints a line about an event, for people who watch. */
  say(line: string): void
  /** Shows the current state in a few lines, which replace the previous ones on a terminal. */
  show(lines: readonly string[]): void
}

/** A trial whose clock stands still until the demo advances it by a day. */
export interface DemoTrial extends Trial {
  /**
   * Advances one day, and runs a cycle of each due agent, one after another.
   * @param calm returns whether background work of the day's heartbeat is done; it is waited for, so that the order is
   * always the same
   * @returns the number of days passed
   */
  day(calm?: () => Promise<boolean>): Promise<number>
}

/** A demo: agents in a separate project, the events in it, and a report. */
export interface Demo {
  name: string
  summary: string
  /** Selectable parts of the demo, such as cases. */
  parts?: () => readonly { name: string; title: string }[]
  /**
   * Plays the demo.
   * @param part the name of the selected part
   * @throws what the signal was aborted with
   */
  play(stage: DemoContext, part: string | undefined): Promise<DemoReport>
}
export const Demos = point<Demo>('demos', {
  key: ({ name }) => name,
  has: { name: 'text', summary: 'text', play: 'function' },
})

const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and "-"')
const line = z.string().min(1).max(600)

/** A case of the detective demo. */
export const DetectiveCase = z
  .strictObject({
    name,
    title: z.string().min(1).max(80),
    story: z.string().min(1).max(4_000).describe('Facts that are known at the beginning'),
    suspects: z
      .array(z.strictObject({ name: z.string().min(1).max(80), about: line }))
      .min(2)
      .max(12),
    motives: z
      .array(z.strictObject({ name: z.string().min(1).max(40), about: line }))
      .min(2)
      .max(12),
    rounds: z
      .array(z.array(line).min(1).max(8))
      .length(4)
      .describe('Clues by round, in the order in which the detectives receive them'),
    solution: z.strictObject({ suspect: z.string(), motive: z.string(), explanation: z.string().min(1).max(2_000) }),
  })
  .refine(({ suspects, solution }) => suspects.some(each => each.name === solution.suspect), {
    path: ['solution', 'suspect'],
    message: 'must be one of the suspects',
  })
  .refine(({ motives, solution }) => motives.some(each => each.name === solution.motive), {
    path: ['solution', 'motive'],
    message: 'must be one of the motives',
  })
export type DetectiveCase = z.infer<typeof DetectiveCase>
export const DetectiveCases = point<DetectiveCase>('detective_cases', {
  key: each => each.name,
  shape: DetectiveCase,
})

export interface DemoOptions {
  name: string
  part?: string | undefined
  /** Name of the model; by default the embedded model. */
  model?: string | undefined
  seed?: number | undefined
  cycles?: number | undefined
  /** Folder in which the project is created and kept. */
  keep?: string | undefined
  signal: AbortSignal
  say(line: string): void
  show(lines: readonly string[]): void
}

export interface DemoRunner {
  list(): readonly Demo[]
  /**
   * Plays a demo.
   * @throws InvalidInputError for an unknown name or part; ModelError when the model cannot be called
   */
  play(options: DemoOptions): Promise<DemoReport>
  markdown(report: DemoReport): string
  /** Returns the report as one self-contained HTML file with plots. */
  html(report: DemoReport): string
}
/** @deprecated Use `DemoRunner`. */
export type DemoTheatre = DemoRunner
export const DemoTheatre = token<DemoRunner>('demos')
