"""What every command uses: options, settings, context, errors, output."""
