/** The same answer for the same list, for as long as the list is there: what is offered stays the same from script to script. */
export function onceFor<List extends object, Made>(make: (list: List) => Made): (list: List) => Made {
  const made = new WeakMap<List, { readonly value: Made }>();
  return (list) => {
    let known = made.get(list);
    if (known === undefined) {
      known = { value: make(list) };
      made.set(list, known);
    }
    return known.value;
  };
}
