import type { Transcript } from './transcript.ts'

/** Maximum size of all cached transcripts together, in characters. */
const MAX_CHARS = 16_000_000

interface CachedTranscript {
  /** The epoch of the lease under which the transcript was last written. */
  epoch: number
  transcript: Transcript
}

/** Transcripts of the goals that this process pursued last, so that their next cycles need not read and parse them. */
export class TranscriptCache {
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedTranscript>()
  #chars = 0

  /**
   * Removes and returns a transcript, for the cycle that continues the goal.
   * @param epoch the current one in the goal's row; a different one means that the transcript was changed since
   */
  take(goal_id: string, epoch: number | null): Transcript | undefined {
    const cached = this.#remove(goal_id)
    return cached?.epoch === epoch ? cached?.transcript : undefined
  }

  /** Caches a stored transcript, and drops the least recently used ones until all fit. */
  keep(goal_id: string, epoch: number, transcript: Transcript): void {
    this.#remove(goal_id)
    this.#cached.set(goal_id, { epoch, transcript })
    this.#chars += transcript.chars
    for (const oldest of this.#cached.keys()) {
      if (this.#chars <= MAX_CHARS) break
      this.#remove(oldest)
    }
  }

  #remove(goal_id: string): CachedTranscript | undefined {
    const cached = this.#cached.get(goal_id)
    if (cached && this.#cached.delete(goal_id)) this.#chars -= cached.transcript.chars
    return cached
  }
}
