/** Earlier names of what `import … from 'svc'` gives. */

import type { HeartbeatControl } from '#kernel'
import { keyedMutex } from './builtins/lib/keyed-mutex.ts'

/** @deprecated Use `keyedMutex`. */
export const turns = keyedMutex
/** @deprecated Use `HeartbeatControl`. */
export type HeartbeatFace = HeartbeatControl
