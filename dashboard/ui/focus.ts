/** Focuses a field that the reader opened. Use it as the field's `ref`. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus()
}
