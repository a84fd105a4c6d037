const WHOLE = process.env.SVC_TEST_WHOLE === '1'

/** How often a trial by numbers is made: `usual` times beside all other tests, `whole` with `npm run test:whole`. */
export function trialCount(whole: number, usual: number): number {
  return WHOLE ? whole : usual
}
