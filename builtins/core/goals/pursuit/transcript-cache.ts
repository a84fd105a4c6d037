import type { Transcript } from './transcript.ts'

/** Maximum size of all cached transcripts together, in characters. */
const MAX_CHARS = 16_000_000

interface CachedTranscript {
  /** The epoch of the lease under which the transcript was last written. */
  epoch: number
  transcript: Transcript
}

/** Transcripts of the goals that this process pursued last, so that the next cycle of each need not read and parse its own again. */
export class TranscriptCache {
  /** Least recently used first. */
  readonly #kept = new Map<string, CachedTranscript>()
  #chars = 0

  /**
   * Removes and returns a transcript, for the cycle that continues the goal.
   * @param epoch the current one in the goal's row; a different one means that the transcript was changed since
   */
  take(goal_id: string, epoch: number | null): Transcript | undefined {
    const kept = this.#remove(goal_id)
    return kept?.epoch === epoch ? kept?.transcript : undefined
  }

  /** Caches a stored transcript, and drops the least recently used ones until all fit. */
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
