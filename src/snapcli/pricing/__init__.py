"""What a model, a set of heads or a method costs on a target, from compiler and emulator."""
