// Placeholder until the component has its first source.
