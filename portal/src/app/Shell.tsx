import { ActionIcon, Anchor, Button, Drawer, Group, Menu, NavLink, Stack, Text, Tooltip } from "@mantine/core";
import { useMantineColorScheme, useComputedColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";

import { AlertBell } from "./AlertBell";
import { CommandBar, openCommandBar } from "./CommandBar";
import { IsolationWarning } from "./IsolationWarning";
import { KeyboardHelp } from "./keyboard";
import { LiveRefusal } from "./LiveRefusal";
import { usePlaces, type Place } from "./places";
import { useMe } from "./session";
import classes from "./Shell.module.css";
import { answer, api } from "@/api/client";
import { useLiveState } from "@/api/live";
import { timeText } from "@/parts/amounts";
import { MenuIcon, MoonIcon, ProfileIcon, SearchIcon, SunIcon } from "@/parts/icons";
import { LanguageSwitch } from "@/parts/LanguageSwitch";
import { fill, useLanguage } from "@/words/language";

/** The frame of all pages: where one is, where one can go, who one is, and whether what is shown is live. */
export function Shell() {
  const { words } = useLanguage();
  const [isOpen, menu] = useDisclosure(false);
  return (
    <div className={classes.shell}>
      <a href="#content" className={classes.skip} onClick={skipToContent}>
        {words.navigation.skip}
      </a>
      <header className={classes.head}>
        <ActionIcon className={classes.burger ?? ""} onClick={menu.open} aria-label={words.navigation.menu}>
          <MenuIcon />
        </ActionIcon>
        <Anchor renderRoot={(props) => <Link {...props} to="/" />} className={classes.product ?? ""}>
          {words.common.product}
        </Anchor>
        <LiveMark />
        <Group gap={4} ml="auto" wrap="nowrap">
          <Button
            variant="default"
            size="compact-xs"
            leftSection={<SearchIcon />}
            onClick={openCommandBar}
            className={classes.wideOnly ?? ""}
          >
            {words.shell.commands}
          </Button>
          <AlertBell />
          <Switches />
          <Account />
        </Group>
      </header>
      <nav className={classes.side} aria-label={words.navigation.main}>
        <Places />
      </nav>
      <Drawer opened={isOpen} onClose={menu.close} size={240} title={words.common.product}>
        <nav aria-label={words.navigation.main}>
          <Places onGo={menu.close} />
        </nav>
      </Drawer>
      <main className={classes.main} id="content" tabIndex={-1}>
        <IsolationWarning />
        <LiveRefusal />
        <Outlet />
      </main>
      <CommandBar />
      <KeyboardHelp />
    </div>
  );
}

function skipToContent(event: { preventDefault: () => void }): void {
  event.preventDefault(); // the fragment of the address is the page's own
  document.getElementById("content")?.focus();
}

function Places({ onGo }: { onGo?: () => void }) {
  const { words } = useLanguage();
  const places = usePlaces();
  const { pathname } = useLocation();
  const isHere = (place: Place) => (place.to === "/" ? pathname === "/" : pathname.startsWith(place.to));
  return (
    <Stack gap={2}>
      {places.map((place) => (
        <NavLink
          key={place.to}
          renderRoot={(props) => <Link {...props} to={place.to} />}
          label={words.navigation[place.name]}
          leftSection={<place.Icon />}
          active={isHere(place)}
          aria-current={isHere(place) ? "page" : undefined}
          onClick={() => onGo?.()}
          py={5}
        />
      ))}
    </Stack>
  );
}

function LiveMark() {
  const { language, words } = useLanguage();
  const state = useLiveState();
  if (state.kind === "off") return null;
  const text =
    state.kind === "live"
      ? words.shell.live
      : state.kind === "connecting"
        ? words.shell.connecting
        : fill(words.shell.stale, { time: timeText(language, state.since) });
  return (
    <Text span size="xs" className={classes.live ?? ""} data-state={state.kind} role="status">
      {text}
    </Text>
  );
}

function Switches() {
  const { words } = useLanguage();
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const isDark = useComputedColorScheme("light") === "dark";
  const label = isDark ? words.shell.light : words.shell.dark;
  return (
    <>
      <LanguageSwitch />
      <Tooltip label={label}>
        <ActionIcon aria-label={label} onClick={() => setColorScheme(isDark ? "light" : "dark")}>
          {isDark ? <SunIcon /> : <MoonIcon />}
        </ActionIcon>
      </Tooltip>
    </>
  );
}

function Account() {
  const { words } = useLanguage();
  const me = useMe();
  const client = useQueryClient();
  const logOut = async () => {
    await answer(api.POST("/api/v1/logout"));
    client.clear();
    window.location.reload();
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          leftSection={<ProfileIcon />}
          aria-label={fill(words.shell.account, { user: me.user })}
        >
          <span className={classes.wideOnly}>{me.user}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item renderRoot={(props) => <Link {...props} to="/profile" />}>{words.navigation.profile}</Menu.Item>
        <Menu.Item onClick={() => void logOut()}>{words.shell.logOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
