/** The boundary of a cycle, where what records it listens. Without one, events are emitted and answers taken as they are. */
export interface CycleBoundary {
  /** Emits an event, which changes nothing for the cycle itself. */
  emit(event: string, work: () => void | Promise<void>): void | Promise<void>
  /** Asks for an answer of a plugin's file, which comes from outside the cycle. @param what the contribution that answers */
  ask<T>(what: string, work: () => Promise<T>): Promise<T>
}
