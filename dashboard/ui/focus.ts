/** Use as `ref` of a field that was opened by the reader. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus()
}
