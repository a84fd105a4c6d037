/** Earlier names of what `import … from 'svc'` gives. */

import { type BlockReason, BlockReasons, type DeleteHook, DeleteHooks } from '#core/agents/contract'
import { ImportedAgent, type UnpackedPart } from '#core/checkpoints/contract'
import type { MetadataFilter } from '#core/memory/contract'
import { recordedQuestion, Shortening } from '#core/models/contract'
import type { CliCommand } from '#interfaces/cli/contract'
import { ApplyResult } from '#interfaces/plugins-admin/contract'
import type { HttpRoute } from '#interfaces/rest/contract'
import { didYouMean, errorMessage, intercept, withTimeLimit } from '#kernel'
import type { DemoContext, DemoTrial } from '#lab/demos/contract'
import { keyedMutex } from '#lib/keyed-mutex'
import { pluralize } from '#lib/pluralize'
import {
  ActiveRecording,
  type ExecutionIdentity,
  inContext,
  type NondeterministicValue,
  type RecordedQuestion,
  type RecordingBackend,
  type RecordingContext,
  recordedPorts,
  recordInput,
  recordingContext,
  runInContext,
  type WrittenStatement,
  withoutRecording,
} from '#lib/recording-context'
import { type HeartbeatControl, neverHasWork } from '#platform/heartbeat/contract'
import { addRetentionRule } from '#platform/retention/contract'
import { jsonList, type NeighbourWrites } from '#platform/store/contract'
import type { WatchedPath } from '#platform/waking/contract'
import type { CheckedText } from '#safety/guardrails/contract'
import { type FetchedPage, fence, markUntrusted } from '#safety/net/contract'
import type { PreparedMessage } from '#society/a2a/contract'
import type { CitizenAction } from '#society/economy/contract'

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
/** @deprecated Use `pluralize`. */
export const counted = pluralize
/** @deprecated Use `fence`. */
export const fenced = fence
/** @deprecated Use `markUntrusted`. */
export const untrusted = markUntrusted
/** @deprecated Use `ImportedAgent`. */
export const Imported = ImportedAgent
/** @deprecated Use `ApplyResult`. */
export const Applied = ApplyResult
/** @deprecated Use `ImportedAgent`. */
export type Imported = ImportedAgent
/** @deprecated Use `ApplyResult`. */
export type Applied = ApplyResult
/** @deprecated Use `PreparedMessage`. */
export type Posted = PreparedMessage
/** @deprecated Use `UnpackedPart`. */
export type Unpacked = UnpackedPart
/** @deprecated Use `CitizenAction`. */
export type Deed = CitizenAction
/** @deprecated Use `FetchedPage`. */
export type Fetched = FetchedPage
/** @deprecated Use `DemoContext`. */
export type DemoStage = DemoContext
/** @deprecated Use `DemoTrial`. */
export type DemoHouse = DemoTrial
/** @deprecated Use `CheckedText`. */
export type Checked = CheckedText
/** @deprecated Use `WatchedPath`. */
export type Watched = WatchedPath

// Parts of the program, which no module publishes any more.
/** @deprecated No replacement. */
export { cliCommandsOf as facesOf, type Place, readUsage } from '#interfaces/cli/parsing/usage'
/** @deprecated No replacement. */
export { Heartbeat, type HeartbeatParts } from '#platform/heartbeat/heartbeat'
/** @deprecated No replacement. */
export { type CycleParts, runPhases } from '#platform/heartbeat/phases'
/** @deprecated No replacement. */
export { PluginsConfig } from '#platform/plugin-files/config'
/** @deprecated No replacement. */
export { Config, type ConfigOptions } from '#platform/settings/config'
/** @deprecated Use `DeleteHook`. */
export type Farewell = DeleteHook
/** @deprecated Use `DeleteHooks`. */
export const Farewells = DeleteHooks
/** @deprecated Use `NeighbourWrites`. */
export type Overheard = NeighbourWrites
/** @deprecated Use `RecordingBackend`. */
export type Tape = RecordingBackend
/** @deprecated Use `ActiveRecording`. */
export const TapeToken = ActiveRecording
/** @deprecated Use `didYouMean`. */
export const meant = didYouMean
/** @deprecated Use `errorMessage`. */
export const sentenceOf = errorMessage
/** @deprecated Use `intercept`. */
export const intercepted = intercept
/** @deprecated Use `addRetentionRule`. */
export const forgets = addRetentionRule
/** @deprecated Use `HttpRoute`. */
export type HttpFace = HttpRoute
/** @deprecated Use `CliCommand`. */
export type CliFace = CliCommand
/** @deprecated Use `jsonList`. */
export const listed = jsonList
/** @deprecated Use `withTimeLimit`. */
export const within = withTimeLimit
/** @deprecated Use `BlockReasons`. */
export const Holds = BlockReasons
/** @deprecated Use `BlockReason`. */
export type Hold = BlockReason
/** @deprecated Use `Shortening`. */
export const RoomMade = Shortening
/** @deprecated Use `Shortening`. */
export type RoomMade = Shortening
/** @deprecated Use `recordedQuestion`. */
export const askedIn = recordedQuestion
/** @deprecated Use `MetadataFilter`. */
export type Only = MetadataFilter
/** @deprecated Use `RecordedQuestion`. */
export type Asked = RecordedQuestion
