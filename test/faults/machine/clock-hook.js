import { readFileSync } from 'node:fs'

// Loaded before the program (NODE_OPTIONS=--import=…): its wall clock is off by as many milliseconds as the file SVC_CLOCK_OFF
// says, from one moment to the next. What never jumps stays as it is. The program itself knows nothing of that variable.
const Real = Date
let off = 0
const now = () => {
  // Empty for the moment in which it is written.
  off = Number(readFileSync(process.env.SVC_CLOCK_OFF, 'utf8') || off)
  return Real.now() + off
}
globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length > 0 ? given : [now()]))
  }

  static now() {
    return now()
  }
}
