import type { ReactNode } from "react";

/** Plain line icons. They are decoration: what carries one has a label. */
function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      viewBox="0 0 24 24"
      width="1.15em"
      height="1.15em"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

const drawn = (path: string) =>
  function DrawnIcon() {
    return (
      <Icon>
        <path d={path} />
      </Icon>
    );
  };

export const HomeIcon = drawn("M4 11l8-7 8 7v9h-5v-6h-6v6H4z");
export const JobsIcon = drawn("M4 6h16M4 12h16M4 18h10");
export const SubmitIcon = drawn("M12 19V5M6 11l6-6 6 6");
export const QueueIcon = drawn("M5 5h3v14H5zM11 9h3v10h-3zM17 13h3v6h-3z");
export const ClusterIcon = drawn("M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z");
export const ScheduleIcon = drawn("M4 6h9M4 12h14M9 18h11M4 18h1");
export const ExperimentsIcon = drawn(
  "M9 3h6M10 3v6l-5 10a1.500 1.500 0 0 0 1.500 2h11a1.500 1.500 0 0 0 1.500-2l-5-10V3M7.500 15h9",
);
export const SweepsIcon = drawn("M5 5h3v3H5zM11 5h3v3h-3zM17 5h3v3h-3zM5 11h3v3H5zM11 11h3v3h-3zM5 17h3v3H5z");
export const ModelsIcon = drawn("M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4");
export const ShareIcon = drawn("M12 4a8 8 0 1 0 8 8h-8z");
export const SimulateIcon = drawn("M4 18c4 0 4-12 8-12s4 8 8 8");
export const FilesIcon = drawn("M3 6h6l2 2h10v11H3z");
export const EnvironmentsIcon = drawn("M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.500");
export const AdminIcon = drawn("M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z");
export const ProfileIcon = drawn("M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6");
export const CopyIcon = drawn("M9 9h11v11H9zM5 15H4V4h11v1");
export const CheckIcon = drawn("M5 13l4 4L19 7");
export const SearchIcon = drawn("M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4");
export const BellIcon = drawn("M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4");
export const MoonIcon = drawn("M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z");
export const SunIcon = drawn(
  "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
);
export const MenuIcon = drawn("M4 7h16M4 12h16M4 17h16");
export const DownloadIcon = drawn("M12 4v11M7 11l5 5 5-5M4 20h16");
export const UploadIcon = drawn("M12 16V5M7 9l5-5 5 5M4 20h16");
export const PlusIcon = drawn("M12 5v14M5 12h14");
export const CrossIcon = drawn("M6 6l12 12M18 6L6 18");
export const ChevronIcon = drawn("M9 5l7 7-7 7");
export const StopIcon = drawn("M6 6h12v12H6z");
export const PauseIcon = drawn("M8 5v14M16 5v14");
export const PlayIcon = drawn("M7 5l12 7-12 7z");
export const RetryIcon = drawn("M20 5v5h-5M20 10a8 8 0 1 0 1 5");
export const ColumnsIcon = drawn("M4 5h16v14H4zM9.500 5v14M14.500 5v14");
export const WarningIcon = drawn("M12 4l9 16H3zM12 10v4M12 17v.01");
export const FileIcon = drawn("M6 3h8l5 5v13H6zM14 3v5h5");
export const TerminalIcon = drawn("M4 5h16v14H4zM7 9l3 3-3 3M12 15h5");
export const MoreIcon = drawn("M5 12h.01M12 12h.01M19 12h.01");
