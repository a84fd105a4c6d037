import { point, token, z } from '#kernel'
import type { Trial, TrialOptions } from '#lab/trials/contract'

/** A part of a report. Texts are plain: they become Markdown or HTML, and what agents wrote does no harm in either. */
export type ReportBlock =
  | { kind: 'heading'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'list'; items: readonly string[] }
  | { kind: 'table'; head: readonly string[]; rows: readonly (readonly string[])[] }
  /** What was said or written. */
  | { kind: 'quote'; text: string; by: string }
  /** Figures over time, oldest first, one line each, all on one scale: from the lowest to the highest unless `range` is set. */
  | {
      kind: 'series'
      title: string
      unit: string
      range?: readonly [number, number]
      lines: readonly { name: string; values: readonly number[] }[]
    }

/** What people read at the end of a demo. */
export interface DemoReport {
  title: string
  /** The first thing that is said: what it was and which model, and plainly so when that is none. */
  lead: string
  blocks: readonly ReportBlock[]
}

/** What a demo is given. */
export interface DemoContext {
  seed: number
  /** As people write it. */
  model: string
  /** `provider:model`, with what is said of it wherever it is named. */
  named: string
  /** Cycles, where the demo counts in such; its own number without. */
  cycles: number | undefined
  signal: AbortSignal
  /** Opens the project in which the demo runs, with the seed; `config` and `files` are the demo's own. */
  open(options: Pick<TrialOptions, 'config' | 'files' | 'roles'>): Promise<DemoTrial>
  /** A line of what happens, for people who watch. */
  say(line: string): void
  /** How things stand, in a few lines: on a terminal these take the place of those shown before. */
  show(lines: readonly string[]): void
}

/** A trial whose days the demo counts: time stands still in it until the demo lets a day pass. */
export interface DemoTrial extends Trial {
  /**
   * Lets a day pass, and everybody who is due live through it, one after another.
   * @param calm whether what the day's beat began beside the cycles is done; it is waited for, so that the order is always the same
   * @returns how many days have passed
   */
  day(calm?: () => Promise<boolean>): Promise<number>
}

/** A demo: agents in a project of their own, what happens to them, and a report. */
export interface Demo {
  name: string
  summary: string
  /** Its own parts, such as cases, of which one can be chosen. */
  parts?: () => readonly { name: string; title: string }[]
  /** @param part the name of the one chosen @throws what the signal was aborted with */
  play(stage: DemoContext, part: string | undefined): Promise<DemoReport>
}
export const Demos = point<Demo>('demos', {
  key: ({ name }) => name,
  has: { name: 'text', summary: 'text', play: 'function' },
})

const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and "-"')
const line = z.string().min(1).max(600)

/** A case for the detectives. */
export const DetectiveCase = z
  .strictObject({
    name,
    title: z.string().min(1).max(80),
    story: z.string().min(1).max(4_000).describe('What is known at the beginning'),
    suspects: z
      .array(z.strictObject({ name: z.string().min(1).max(80), about: line }))
      .min(2)
      .max(12),
    motives: z
      .array(z.strictObject({ name: z.string().min(1).max(40), about: line }))
      .min(2)
      .max(12),
    rounds: z.array(z.array(line).min(1).max(8)).length(4).describe('Clues, in the order in which they come to light'),
    solution: z.strictObject({ suspect: z.string(), motive: z.string(), explanation: z.string().min(1).max(2_000) }),
  })
  .refine(({ suspects, solution }) => suspects.some(each => each.name === solution.suspect), {
    ...{ path: ['solution', 'suspect'], message: 'is none of the suspects' },
  })
  .refine(({ motives, solution }) => motives.some(each => each.name === solution.motive), {
    ...{ path: ['solution', 'motive'], message: 'is none of the motives' },
  })
export type DetectiveCase = z.infer<typeof DetectiveCase>
export const DetectiveCases = point<DetectiveCase>('detective_cases', {
  key: each => each.name,
  shape: DetectiveCase,
})

export interface DemoOptions {
  name: string
  part?: string | undefined
  /** As people write it. Default: the embedded model. */
  model?: string | undefined
  seed?: number | undefined
  cycles?: number | undefined
  /** The folder in which its project is made and stays. */
  keep?: string | undefined
  signal: AbortSignal
  say(line: string): void
  show(lines: readonly string[]): void
}

export interface DemoTheatre {
  list(): readonly Demo[]
  /** @throws InvalidInputError for a name or a part that there is not; ModelError when the model cannot be called */
  play(options: DemoOptions): Promise<DemoReport>
  markdown(report: DemoReport): string
  /** One file with plots, which loads nothing. */
  html(report: DemoReport): string
}
export const DemoTheatre = token<DemoTheatre>('demos')
