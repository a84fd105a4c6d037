import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'
import { goals } from './goals.ts'
import { injectedOrders } from './injected-orders.ts'
import { instructions } from './instructions.ts'
import { memory } from './memory.ts'
import { pursuit } from './pursuit.ts'
import { recovery } from './recovery.ts'
import { structured } from './structured.ts'
import { toolChoice } from './tool-choice.ts'
import { toolUse } from './tool-use.ts'

/** Built-in scenarios; plugins may add more. */
export const BUILT_IN: readonly z.input<typeof Scenario>[] = [
  goals,
  toolUse,
  toolChoice,
  pursuit,
  structured,
  instructions,
  recovery,
  injectedOrders,
  memory,
]
