"""The file side of recording: frames, journals and segments that survive a crash. Knows no driver."""
