import type { Transcript } from './transcript.ts'

/** Maximum number of characters of all transcripts that are kept. */
const MAX_CHARS = 16_000_000

interface CachedTranscript {
  /** The epoch of the lease under which it was last written to. */
  epoch: number
  transcript: Transcript
}

/** Transcripts of the goals that this process pursued last, so that the next cycle of each need not read and parse its own again. */
export class TranscriptCache {
  /** Least recently used first. */
  readonly #kept = new Map<string, CachedTranscript>()
  #chars = 0

  /**
   * Takes a transcript out: the cycle that pursues the goal goes on with it.
   * @param epoch the one that the goal's row names now: with another, something else has written to the transcript since
   */
  take(goal_id: string, epoch: number | null): Transcript | undefined {
    const kept = this.#remove(goal_id)
    return kept?.epoch === epoch ? kept?.transcript : undefined
  }

  /** Keeps a transcript that is stored as it is; others are dropped until all that are kept fit. */
  keep(goal_id: string, epoch: number, transcript: Transcript): void {
    this.#remove(goal_id)
    this.#kept.set(goal_id, { epoch, transcript })
    this.#chars += transcript.chars
    for (const oldest of this.#kept.keys()) {
      if (this.#chars <= MAX_CHARS) break
      this.#remove(oldest)
    }
  }

  #remove(goal_id: string): CachedTranscript | undefined {
    const kept = this.#kept.get(goal_id)
    if (kept && this.#kept.delete(goal_id)) this.#chars -= kept.transcript.chars
    return kept
  }
}
