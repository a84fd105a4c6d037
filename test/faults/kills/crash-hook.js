// Loaded before the program (NODE_OPTIONS=--import=…): kills the process where SVC_CRASH_AT says, `<point>` or `<point>:<n>`
// for the nth time. The program itself knows nothing of that variable.
const [, point, times = '1'] = /^(.*?)(?::(\d+))?$/.exec(process.env.SVC_CRASH_AT ?? '')
let left = Number(times)
Reflect.set(globalThis, Symbol.for('svc.crash_point'), (name, effect) => {
  const reached = effect === undefined ? name : `${name} ${effect}`
  if (reached === point && --left === 0) process.kill(process.pid, 'SIGKILL')
})
