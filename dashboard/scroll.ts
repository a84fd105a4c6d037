/** Scroll position of each address when it was left. */
const left = new Map<string, number>()
let isBack = false

/** Marks an entry of the history that the reader has visited. */
const BEEN = 'been'

// The browser would restore the position before there is anything to scroll.
history.scrollRestoration = 'manual'
history.replaceState(BEEN, '')
window.addEventListener('hashchange', ({ oldURL }) => {
  // If only parameters changed, the position stays.
  if (!oldURL) return
  left.set(new URL(oldURL).hash, scrollY)
  isBack = history.state === BEEN
  history.replaceState(BEEN, '')
})

/** Scrolls to the top of the page, or to where it was left if the reader came back. */
export function scrollToPlace(): void {
  scrollTo(0, isBack ? (left.get(location.hash) ?? 0) : 0)
}
