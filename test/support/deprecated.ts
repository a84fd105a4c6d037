/** Earlier names of exports of `svc/testing`. */
import { turnEventLoop } from './clock.ts'
import { runHeartbeat, waitUntilIdle } from './heartbeat.ts'
import { replayRecording } from './replay-recording.ts'
import { TestHost, type TestHostOptions, testHost } from './test-host.ts'

/** @deprecated Use `testHost`. */
export const house = testHost
/** @deprecated Use `TestHost`. */
export const House = TestHost
/** @deprecated Use `TestHost`. */
export type House = TestHost
/** @deprecated Use `TestHostOptions`. */
export type HouseOptions = TestHostOptions
/** @deprecated Use `runHeartbeat`. */
export const beat = runHeartbeat
/** @deprecated Use `waitUntilIdle`. */
export const settled = waitUntilIdle
/** @deprecated Use `turnEventLoop`. */
export const turns = turnEventLoop
/** @deprecated Use `replayRecording`. */
export const replayed = replayRecording
