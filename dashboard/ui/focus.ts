/** Focuses a field that the reader opened. Use it as the field's `ref`. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus()
}

/**
 * Moves the focus to the page's content when the focused control disappears: otherwise the keyboard starts at the top.
 * @returns a function that ends it
 */
export function keepFocus(content: HTMLElement): () => void {
  let focused: Element | null = null
  const remember = () => {
    focused = document.activeElement
  }
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body || !focused || focused.isConnected) return
    focused = null
    content.focus({ preventScroll: true })
  })
  content.addEventListener('focusin', remember)
  observer.observe(content, { childList: true, subtree: true })
  return () => {
    content.removeEventListener('focusin', remember)
    observer.disconnect()
  }
}
