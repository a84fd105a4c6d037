/** Whether the longest trials run too: `npm run test:whole`. */
export const IS_WHOLE = process.env.SVC_TEST_WHOLE === '1'

/** Returns the number of trials: `usual` in a normal run, `whole` with `npm run test:whole`. */
export function trialCount(whole: number, usual: number): number {
  return IS_WHOLE ? whole : usual
}
