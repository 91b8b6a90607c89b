/** What was chosen, in the event of a `<select>`. */
export const readChoice = (event: Event): string => (event.currentTarget as HTMLSelectElement).value;
