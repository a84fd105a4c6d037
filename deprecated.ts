/** Earlier names of what `import … from 'svc'` gives. */

import { keyedMutex } from './builtins/lib/keyed-mutex.ts'

/** @deprecated Use `keyedMutex`. */
export const turns = keyedMutex
