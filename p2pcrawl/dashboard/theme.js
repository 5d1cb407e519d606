// Sets the colours before anything is drawn. Loaded without `type=module`, so that nothing flashes.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* Storage may be closed; the system's colours do. */ }
