/** Earlier names of what `import … from 'svc'` gives. */

import { keyedMutex } from '#lib/keyed-mutex'
import {
  type ExecutionIdentity,
  inContext,
  type NondeterministicValue,
  type RecordingContext,
  recordedPorts,
  recordInput,
  recordingContext,
  runInContext,
  type WrittenStatement,
  withoutRecording,
} from '#lib/recording-context'
import { type HeartbeatControl, neverHasWork } from '#platform/heartbeat/contract'

/** @deprecated Use `keyedMutex`. */
export const turns = keyedMutex
/** @deprecated Use `neverHasWork`. */
export const nobody = neverHasWork
/** @deprecated Use `HeartbeatControl`. */
export type HeartbeatFace = HeartbeatControl
/** @deprecated Use `recordingContext`. */
export const actor = recordingContext
/** @deprecated Use `runInContext`. */
export const act = runInContext
/** @deprecated Use `inContext`. */
export const asActor = inContext
/** @deprecated Use `recordInput`. */
export const taken = recordInput
/** @deprecated Use `withoutRecording`. */
export const outside = withoutRecording
/** @deprecated Use `recordedPorts`. */
export const drawnPorts = recordedPorts
/** @deprecated Use `RecordingContext`. */
export type Actor = RecordingContext
/** @deprecated Use `NondeterministicValue`. */
export type Draw = NondeterministicValue
/** @deprecated Use `WrittenStatement`. */
export type Noted = WrittenStatement
/** @deprecated Use `ExecutionIdentity`. */
export type Right = ExecutionIdentity
